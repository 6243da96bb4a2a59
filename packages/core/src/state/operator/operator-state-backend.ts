/**
 * Operator state of one operator in one subtask: lists, union lists and broadcast maps. It is small
 * and not bound to keys, so a snapshot encodes it at once, one section an item: that is what lets
 * the JobManager deal items out anew without reading them.
 */
import type { StateEvolution } from '../../api/state-evolution.ts';
import type {
  OperatorStateDescriptor,
  StateDeclaration,
  StateDescriptor,
} from '../../api/state.ts';
import { assert } from '../../base/assert.ts';
import { encodeValue } from '../../base/codec/value-codec.ts';
import { SerializationError, messageOf } from '../../base/errors.ts';
import type { OperatorStateSnapshot } from '../../protocol/snapshot.ts';
import type { SectionOutput } from '../keyed-state-backend.ts';
import type { Evolve } from '../state-evolution.ts';
import { evolutionOf, schemaText, versionOf } from '../state-evolution.ts';
import { TypeWatch } from '../type-watch.ts';
import { HeapBroadcastState } from './broadcast-state.ts';
import { HeapOperatorListState } from './operator-list-state.ts';

export interface OperatorStateOptions {
  /** For messages. */
  readonly operatorName: string;
  readonly subtask: number;
  readonly parallelism: number;
  /** Freeze values deeply, so that tests see mutations that the types forbid. */
  readonly freeze?: boolean;
}

/** Items of one state of an earlier snapshot, decoded. */
export interface RestoredOperatorState {
  readonly name: string;
  readonly mode: OperatorStateSnapshot['mode'];
  /** As stored; 1 and none if absent. */
  readonly version?: number;
  readonly schema?: string;
  readonly items: readonly unknown[];
}

type OperatorState = HeapOperatorListState<unknown> | HeapBroadcastState<unknown, unknown>;

export class OperatorStateBackend {
  readonly operatorName: string;
  readonly #options: OperatorStateOptions;
  readonly #states = new Map<string, OperatorState>();
  readonly #evolutions = new Map<string, StateEvolution<unknown>>();

  constructor(options: OperatorStateOptions) {
    this.operatorName = options.operatorName;
    this.#options = options;
  }

  /** Handles of the operator states in `declaration`; keyed states in it are left out. */
  handlesFor(declaration: StateDeclaration): Record<string, unknown> {
    const handles: Record<string, unknown> = {};
    for (const [name, descriptor] of Object.entries(declaration)) {
      if (!isOperatorState(descriptor)) continue;
      assert(!this.#states.has(name), `state "${name}" of ${this.operatorName} is declared twice`);
      const state = this.#create(descriptor);
      this.#states.set(name, state);
      if (descriptor.evolution !== undefined) this.#evolutions.set(name, descriptor.evolution);
      handles[name] = state;
    }
    return handles;
  }

  /**
   * Encodes all items at once; states without items are in the snapshot as well. Throws
   * `SerializationError` when an item cannot be encoded.
   */
  snapshot(output: SectionOutput): readonly OperatorStateSnapshot[] {
    return Array.from(this.#states, ([name, state]) => ({
      name,
      mode: state.mode,
      ...this.#typeOf(name),
      items: state.ownItems().map((item) => output.append(this.#encode(name, item), 1)),
    }));
  }

  /**
   * Adds the items of an earlier snapshot, in order, and gives warnings: one for each state
   * that is declared no more. Throws `StateMigrationError` when one cannot be read as it is
   * declared. Items of an older type are migrated here and now: they are few.
   */
  restore(stored: readonly RestoredOperatorState[], watchesTypes = false): readonly string[] {
    const warnings: string[] = [];
    for (const { name, mode, items, version = 1, schema = null } of stored) {
      const state = this.#states.get(name);
      if (state === undefined) {
        warnings.push(
          `state "${name}" of ${this.operatorName} is declared no more: its ${items.length} ` +
            'items were dropped',
        );
        continue;
      }
      const type = { name, kind: mode, version, schema };
      const evolution = this.#evolutions.get(name);
      const evolve = evolutionOf(this.operatorName, type, { kind: state.mode, evolution });
      state.restore(evolve === null ? items : items.map((item) => evolved(item, mode, evolve)));
      if (watchesTypes && evolve === null && evolution?.schema === undefined)
        state.watch = this.#watchOf(name, version, state.values());
    }
    return warnings;
  }

  #watchOf(name: string, version: number, values: Iterable<unknown>): TypeWatch {
    const watch = new TypeWatch({ operator: this.operatorName, name, version });
    for (const value of values) watch.learn(value);
    return watch;
  }

  #create(descriptor: OperatorStateDescriptor): OperatorState {
    const freeze = this.#options.freeze ?? false;
    if (descriptor.kind === 'broadcast') return new HeapBroadcastState(freeze);
    return new HeapOperatorListState(descriptor.mode, this.#options, freeze);
  }

  #encode(name: string, item: unknown): Uint8Array {
    try {
      return encodeValue(item);
    } catch (error) {
      const place = `state "${name}" of ${this.operatorName}`;
      throw new SerializationError(`${place}: ${messageOf(error)}`, { cause: error });
    }
  }

  /** Left out where nothing is declared, so that most snapshots stay as they were. */
  #typeOf(name: string): Pick<OperatorStateSnapshot, 'version' | 'schema'> {
    const evolution = this.#evolutions.get(name);
    if (evolution === undefined) return {};
    const schema = schemaText(evolution);
    return { version: versionOf(evolution), ...(schema === null ? {} : { schema }) };
  }
}

/** An item of broadcast state is a key with its value; keys do not migrate. */
function evolved(item: unknown, mode: OperatorStateSnapshot['mode'], evolve: Evolve): unknown {
  if (mode !== 'broadcast') return evolve(item, '');
  const [key, value] = item as readonly [unknown, unknown];
  return [key, evolve(value, ` under key ${String(key)}`)];
}

function isOperatorState(descriptor: StateDescriptor): descriptor is OperatorStateDescriptor {
  return descriptor.kind === 'operatorList' || descriptor.kind === 'broadcast';
}
