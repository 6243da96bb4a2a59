/**
 * Keyed state on the heap of one operator in one subtask. Declares states as slots of an
 * `EntryTable`, gives out their handles, and takes entries of earlier snapshots. Costs one look-up
 * per record; snapshots cost O(1) to start and never copy the table (`lazy-snapshots.ts`).
 */
import type { KeyValue } from '../../api/functions.ts';
import type { KeyedStateDescriptor, StateDeclaration, StateDescriptor } from '../../api/state.ts';
import type { StateEvolution } from '../../api/state-evolution.ts';
import { assert, unreachable } from '../../base/assert.ts';
import type { KeyedStateMeta, StateKind } from '../../protocol/snapshot.ts';
import type {
  KeyedSnapshotCursor,
  KeyedStateBackend,
  SectionOutput,
} from '../keyed-state-backend.ts';
import { declaredShapeOf } from '../declared-shape.ts';
import type { MapKey } from '../map-key.ts';
import { withMapKeys } from '../map-key.ts';
import type { Evolve } from '../state-evolution.ts';
import { evolutionOf, schemaText, versionOf } from '../state-evolution.ts';
import { TypeWatch } from '../type-watch.ts';
import { EMPTY } from './entry.ts';
import { EntryTable } from './entry-table.ts';
import type { Slot } from './keyed-states.ts';
import { Unmigrated } from './unmigrated.ts';
import {
  HeapAggregatingState,
  HeapListState,
  HeapMapState,
  HeapReducingState,
  HeapValueState,
} from './keyed-states.ts';

/** Where a stored state goes. */
export interface StoredSlot {
  readonly index: number;
  /** `null`: its values are read as they are. */
  readonly evolve: Evolve | null;
  /** Learns the values as they come; `null`: nobody need know them. */
  readonly watch: TypeWatch | null;
}

export interface HeapBackendOptions {
  readonly maxParallelism: number;
  /** First and last key group of the subtask, both included. */
  readonly keyGroups: readonly [number, number];
  /** Name of the operator, for messages. */
  readonly operatorName: string;
  /** Freeze values deeply, so that tests see mutations that the types forbid. */
  readonly freeze?: boolean;
  /** Entries of one `Map`; fewer than it can take only in tests. */
  readonly entriesPerMap?: number;
}

export class HeapKeyedStateBackend implements KeyedStateBackend {
  readonly keyGroups: readonly [number, number];
  readonly maxParallelism: number;
  readonly operatorName: string;
  readonly #table: EntryTable;
  readonly #freeze: boolean;
  /** One per slot. */
  readonly #evolutions: (StateEvolution<unknown> | undefined)[] = [];
  readonly #slots: Slot[] = [];
  /** What stands where there is no value yet; one per slot. */
  readonly #defaults: unknown[] = [];
  /** Of the entry that is put in, one per slot. Used again. */
  readonly #contents: unknown[] = [];

  constructor(options: HeapBackendOptions) {
    this.keyGroups = options.keyGroups;
    this.maxParallelism = options.maxParallelism;
    this.operatorName = options.operatorName;
    this.#freeze = options.freeze ?? false;
    this.#table = new EntryTable(options);
  }

  get states(): readonly KeyedStateMeta[] {
    return this.#table.states;
  }

  get keyCount(): number {
    return this.#table.size;
  }

  get currentKey(): KeyValue {
    return this.#table.key;
  }

  get ownKey(): KeyValue {
    return this.#table.ownKey;
  }

  get timerMark(): object | null {
    return this.#table.current?.timerMark ?? null;
  }

  set timerMark(mark: object | null) {
    const { current } = this.#table;
    if (current !== null) current.timerMark = mark;
  }

  setCurrentKey(key: KeyValue): void {
    this.#table.select(key);
  }

  clearCurrentKey(): void {
    this.#table.deselect();
  }

  handlesFor(declaration: StateDeclaration): Record<string, unknown> {
    assert(this.keyCount === 0, `states of ${this.operatorName} are declared too late`);
    const handles: Record<string, unknown> = {};
    for (const [name, descriptor] of Object.entries(declaration))
      if (isKeyed(descriptor)) handles[name] = this.#declare(name, descriptor);
    return handles;
  }

  startSnapshot(output: SectionOutput): KeyedSnapshotCursor {
    return this.#table.startSnapshot(output);
  }

  /**
   * Prepares for entries of a snapshot with these states: tells for each stored state the slot it
   * goes to, or null when it is declared no more. Throws `StateMigrationError` when one cannot be
   * read as it is declared.
   *
   * @param watches The code may be other than that which stored them: what is written first is
   * compared with what was restored.
   */
  slotsOf(stored: readonly KeyedStateMeta[], watches = false): readonly (StoredSlot | null)[] {
    return stored.map(({ name, kind, version, schema = null }) => {
      const index = this.states.findIndex((state) => state.name === name);
      if (index < 0) return null;
      const declared = { kind: this.states[index]!.kind, evolution: this.#evolutions[index] };
      const type = { name, kind, version, schema };
      const evolve = evolutionOf(this.operatorName, type, declared);
      const isWatched = watches && evolve === null && declared.evolution?.schema === undefined;
      return { index, evolve, watch: isWatched ? this.#watchOf(index) : null };
    });
  }

  /** One for all parts of a snapshot. */
  #watchOf(index: number): TypeWatch {
    const slot = this.#slots[index]!;
    if (slot.watch !== null) return slot.watch;
    const { name, version } = this.states[index]!;
    slot.watch = new TypeWatch({ operator: this.operatorName, name, version });
    slot.watch.allow(this.#defaults[index]);
    return slot.watch;
  }

  /**
   * Puts in an entry of a snapshot: its key, then index and content of each stored state in turn.
   * `false` when the key has an entry already. An entry without a declared state is dropped.
   */
  insert(
    parts: readonly unknown[],
    keyGroup: number,
    slots: readonly (StoredSlot | null)[],
  ): boolean {
    const contents = this.#contents;
    for (let index = 0; index < this.states.length; index++) contents[index] = EMPTY;
    let isEmpty = true;
    for (let i = 1; i < parts.length; i += 2) {
      const slot = slots[parts[i] as number];
      assert(slot !== undefined, `an entry names state ${String(parts[i])} of ${slots.length}`);
      if (slot === null) continue;
      const { index, evolve, watch } = slot;
      const { kind } = this.states[index]!;
      const stored = parts[i + 1];
      if (watch !== null) learn(watch, kind, stored);
      const content = kind === 'map' ? withMapKeys(stored as Map<MapKey, unknown>) : stored;
      contents[index] = evolve === null ? content : new Unmigrated(content, kind, evolve);
      isEmpty = false;
    }
    return isEmpty || this.#table.insert(parts[0] as KeyValue, keyGroup, contents);
  }

  #declare(name: string, descriptor: KeyedStateDescriptor): unknown {
    const { states } = this.#table;
    const isNew = states.every((state) => state.name !== name);
    assert(isNew, `state "${name}" of ${this.operatorName} is declared twice`);
    const { kind, evolution } = descriptor;
    const schema = schemaText(evolution);
    const version = versionOf(evolution);
    const declared = declaredShapeOf(descriptor);
    states.push({
      name,
      kind,
      version,
      ...(schema === null ? {} : { schema }),
      ...(declared === null ? {} : { shape: JSON.stringify(declared.shape) }),
    });
    this.#evolutions.push(evolution);
    this.#defaults.push(declared?.value);
    const slot: Slot = {
      table: this.#table,
      index: states.length - 1,
      freeze: this.#freeze && !(descriptor.kind === 'value' && descriptor.isAccumulator === true),
      watch: null,
    };
    this.#slots.push(slot);
    switch (descriptor.kind) {
      case 'value':
        return new HeapValueState(slot, descriptor.default);
      case 'list':
        return new HeapListState(slot);
      case 'map':
        return new HeapMapState(slot);
      case 'reducing':
        return new HeapReducingState(slot, descriptor);
      case 'aggregating':
        return new HeapAggregatingState(slot, descriptor.aggregate);
      default:
        return unreachable(descriptor);
    }
  }
}

/** Of a list its items, of a map its values. */
function learn(watch: TypeWatch, kind: StateKind, content: unknown): void {
  if (kind === 'list') for (const item of content as readonly unknown[]) watch.learn(item);
  else if (kind === 'map')
    for (const value of (content as ReadonlyMap<unknown, unknown>).values()) watch.learn(value);
  else watch.learn(content);
}

function isKeyed(descriptor: StateDescriptor): descriptor is KeyedStateDescriptor {
  return descriptor.kind !== 'operatorList' && descriptor.kind !== 'broadcast';
}
