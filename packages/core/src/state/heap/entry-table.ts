/**
 * The table of one keyed operator: one entry per key, with a slot per declared state. `select`
 * looks a key up once per record; handles then read and write slots of the current entry in place.
 * An entry comes into being with the first write and goes with its last state, so a key without
 * state costs nothing. What snapshots need is in `lazy-snapshots.ts`: touching an entry settles it,
 * and selecting counts as touching, since users may mutate what they read.
 */
import type { KeyValue } from '../../api/functions.ts';
import {
  SerializationError,
  UserFunctionError,
  isWeirError,
  messageOf,
} from '../../base/errors.ts';
import { hashKey, keyGroupOf } from '../../base/key-groups.ts';
import type { KeyedStateMeta } from '../../protocol/snapshot.ts';
import type { KeyedSnapshotCursor, SectionOutput } from '../keyed-state-backend.ts';
import type { SnapshotSource } from '../lazy-snapshots.ts';
import { LazySnapshots } from '../lazy-snapshots.ts';
import type { MapKey } from '../map-key.ts';
import { mapKeyOf, withTupleKeys } from '../map-key.ts';
import { EMPTY, Entry } from './entry.ts';
import { Unmigrated } from './unmigrated.ts';

/** Below that of every snapshot: such an entry counts as outdated, and touching it migrates it. */
const UNMIGRATED_VERSION = -1;

/** A step of a snapshot ends after so many entries or bytes. */
const STEP_ENTRIES = 32;
const STEP_BYTES = 4096;

/** A `Map` takes no more entries than this. */
const MAP_ENTRIES_MAX = 2 ** 24 - 1;

export interface EntryTableOptions {
  readonly maxParallelism: number;
  /** First and last key group of the subtask, both included. */
  readonly keyGroups: readonly [number, number];
  /** For messages. */
  readonly operatorName: string;
  /** Fewer than a `Map` takes only in tests. */
  readonly entriesPerMap?: number;
}

export class EntryTable {
  /** Entry of the current key; null when it has no state yet, or when no key is current. */
  current: Entry | null = null;
  /** One per slot. */
  readonly states: KeyedStateMeta[] = [];
  readonly #options: EntryTableOptions;
  readonly #snapshots = new LazySnapshots();
  /** An entry as it is stored: the key, then index and content of each state. Used again. */
  readonly #parts: unknown[] = [];
  readonly #entriesPerMap: number;
  /** More than one only beyond what a single `Map` can hold. */
  readonly #maps: Map<MapKey, Entry>[] = [new Map()];
  #first: Map<MapKey, Entry>;
  #size = 0;
  #key: KeyValue | null = null;

  constructor(options: EntryTableOptions) {
    this.#options = options;
    this.#entriesPerMap = options.entriesPerMap ?? MAP_ENTRIES_MAX;
    this.#first = this.#maps[0]!;
  }

  get size(): number {
    return this.#size;
  }

  get key(): KeyValue {
    if (this.#key === null) throw this.#noKey();
    return this.#key;
  }

  /** Makes a key current. */
  select(key: KeyValue): void {
    const mapKey = mapKeyOf(key);
    const entry = this.#first.get(mapKey) ?? this.#findBeyondFirst(mapKey);
    this.#key = key;
    this.current = entry;
    if (entry !== null && entry.version !== this.#snapshots.version) this.#settleTouched(entry);
  }

  deselect(): void {
    this.#key = null;
    this.current = null;
  }

  /** Content of a slot of the current key. */
  read(slot: number): unknown {
    const entry = this.current;
    if (entry !== null) return entry.get(slot);
    if (this.#key === null) throw this.#noKey();
    return EMPTY;
  }

  write(slot: number, content: unknown): void {
    const entry = this.current ?? this.#create();
    entry.set(slot, content);
  }

  /** Empties a slot; an entry without any state goes. */
  clear(slot: number): void {
    if (this.read(slot) === EMPTY) return;
    const entry = this.current!;
    entry.set(slot, EMPTY);
    if (!entry.isEmpty()) return;
    this.#remove(entry);
    this.current = null;
  }

  /** Puts in an entry of an earlier snapshot. `false` when the key has one already. */
  insert(key: KeyValue, keyGroup: number, contents: readonly unknown[]): boolean {
    const mapKey = mapKeyOf(key);
    if (this.#first.has(mapKey) || this.#findBeyondFirst(mapKey) !== null) return false;
    const isCurrent = contents.every((content) => !(content instanceof Unmigrated));
    const version = isCurrent ? this.#snapshots.version : UNMIGRATED_VERSION;
    const entry = new Entry(key, keyGroup, version);
    for (const [slot, content] of contents.entries())
      if (content !== EMPTY) entry.set(slot, content);
    this.#put(mapKey, entry);
    return true;
  }

  startSnapshot(output: SectionOutput): KeyedSnapshotCursor {
    this.deselect();
    const source: SnapshotSource = {
      itemCount: this.#size,
      keyGroups: this.#options.keyGroups,
      settleSome: this.#settleAll(),
      explain: (error, parts) => this.#cannotStore(error, parts),
    };
    return this.#snapshots.start(source, output);
  }

  /** Settles some entries a call. Entries put in or removed meanwhile need not be seen. */
  #settleAll(): (entriesMax: number) => number {
    let index = 0;
    let entries = this.#first.values();
    return (entriesMax) => {
      for (;;) {
        const count = this.#settleSome(entries, Math.min(entriesMax, STEP_ENTRIES));
        const next = this.#maps[index + 1];
        if (count > 0 || next === undefined) return count;
        entries = next.values();
        index++;
      }
    };
  }

  #settleSome(entries: Iterator<Entry>, entriesMax: number): number {
    let sizeBytes = 0;
    let count = 0;
    while (count < entriesMax && sizeBytes < STEP_BYTES) {
      const { done, value: entry } = entries.next();
      if (done === true) break;
      if (entry.version !== this.#snapshots.version) sizeBytes += this.#settle(entry);
      count++;
    }
    return count;
  }

  /** Gives the bytes it was encoded into. */
  #settle(entry: Entry): number {
    let sizeBytes = 0;
    if (entry.version === UNMIGRATED_VERSION) this.#migrate(entry);
    if (this.#snapshots.isWanted(entry.version))
      sizeBytes = this.#snapshots.add(entry.version, entry.keyGroup, this.#partsOf(entry));
    entry.version = this.#snapshots.version;
    return sizeBytes;
  }

  #settleTouched(entry: Entry): void {
    if (entry.version === UNMIGRATED_VERSION) this.#migrate(entry);
    if (this.#snapshots.isWanted(entry.version))
      this.#snapshots.addTouched(entry.version, entry.keyGroup, this.#partsOf(entry));
    entry.version = this.#snapshots.version;
  }

  /** As it is stored; valid until the next. */
  #partsOf(entry: Entry): readonly unknown[] {
    const parts = this.#parts;
    let length = 0;
    parts[length++] = entry.key;
    for (let slot = 0; slot < this.states.length; slot++) {
      const content = entry.get(slot);
      if (content === EMPTY) continue;
      const isMap = this.states[slot]!.kind === 'map';
      parts[length++] = slot;
      parts[length++] = isMap ? withTupleKeys(content as Map<MapKey, unknown>) : content;
    }
    if (parts.length !== length) parts.length = length;
    return parts;
  }

  /** Before anything sees it: neither a record nor a snapshot meets the type of an older job. */
  #migrate(entry: Entry): void {
    for (let slot = 0; slot < this.states.length; slot++) {
      const content = entry.get(slot);
      if (content instanceof Unmigrated)
        entry.set(slot, content.migrate(` under key ${String(entry.key)}`));
    }
  }

  #create(): Entry {
    if (this.#key === null) throw this.#noKey();
    // Zero has two signs, but is one key.
    const key = this.#key === 0 ? 0 : this.#key;
    const keyGroup = keyGroupOf(hashKey(key), this.#options.maxParallelism);
    const entry = new Entry(key, keyGroup, this.#snapshots.version);
    this.#put(mapKeyOf(key), entry);
    this.current = entry;
    return entry;
  }

  #put(mapKey: MapKey, entry: Entry): void {
    let map = this.#maps.find((each) => each.size < this.#entriesPerMap);
    if (map === undefined) {
      map = new Map();
      this.#maps.push(map);
    }
    map.set(mapKey, entry);
    this.#size++;
  }

  #remove(entry: Entry): void {
    const mapKey = mapKeyOf(entry.key);
    for (const map of this.#maps) if (map.delete(mapKey)) break;
    this.#size--;
  }

  #findBeyondFirst(mapKey: MapKey): Entry | null {
    for (let i = 1; i < this.#maps.length; i++) {
      const entry = this.#maps[i]!.get(mapKey);
      if (entry !== undefined) return entry;
    }
    return null;
  }

  /** Tells whose state cannot be encoded; the codec knows its place only within `parts`. */
  #cannotStore(error: unknown, parts: readonly unknown[]): Error {
    const place = isWeirError(error) ? error.details['place'] : undefined;
    const [, index, within] = /^\[(\d+)\](.*)$/s.exec(String(place)) ?? [];
    const state = index === undefined ? undefined : this.states[parts[Number(index) - 1] as number];
    const { operatorName } = this.#options;
    const subject = state === undefined ? 'state' : `state "${state.name}"`;
    const inState =
      within === undefined || within === '' ? '' : ` (at ${within.replace(/^\./, '')})`;
    const reason = messageOf(error).replace(` (at ${String(place)})`, inState);
    return new SerializationError(
      `${subject} of ${operatorName} under key ${String(parts[0])}: ${reason}`,
      {
        details: {
          operator: operatorName,
          state: state?.name,
          key: String(parts[0]),
          place: within,
        },
        cause: error,
      },
    );
  }

  #noKey(): UserFunctionError {
    const { operatorName } = this.#options;
    return new UserFunctionError(
      `keyed state of ${operatorName} was used while no key is current; use it in onElement and ` +
        'onTimer, not in open, close, on the broadcast side or in a later callback',
      { details: { operator: operatorName } },
    );
  }
}
