/**
 * Operator state of one operator in one subtask: lists, union lists and broadcast maps. It is small
 * and not bound to keys, so a snapshot encodes it at once, one section an item: that is what lets
 * the JobManager deal items out anew without reading them.
 */
import type {
  OperatorStateDescriptor,
  StateDeclaration,
  StateDescriptor,
} from '../../api/state.ts';
import { assert } from '../../base/assert.ts';
import { encodeValue } from '../../base/codec/value-codec.ts';
import { SerializationError, StateMigrationError, messageOf } from '../../base/errors.ts';
import type { OperatorStateSnapshot } from '../../protocol/snapshot.ts';
import type { SectionOutput } from '../keyed-state-backend.ts';
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
  readonly items: readonly unknown[];
}

type OperatorState = HeapOperatorListState<unknown> | HeapBroadcastState<unknown, unknown>;

export class OperatorStateBackend {
  readonly operatorName: string;
  readonly #options: OperatorStateOptions;
  readonly #states = new Map<string, OperatorState>();

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
      items: state.ownItems().map((item) => output.append(this.#encode(name, item), 1)),
    }));
  }

  /**
   * Adds the items of an earlier snapshot, in order, and gives warnings: one for each state
   * that is declared no more. Throws `StateMigrationError` when one was stored as another kind.
   */
  restore(stored: readonly RestoredOperatorState[]): readonly string[] {
    const warnings: string[] = [];
    for (const { name, mode, items } of stored) {
      const state = this.#states.get(name);
      if (state === undefined) {
        warnings.push(
          `state "${name}" of ${this.operatorName} is declared no more: its ${items.length} items ` +
            'were dropped',
        );
        continue;
      }
      if (state.mode !== mode) throw this.#otherKind(name, mode, state.mode);
      state.restore(items);
    }
    return warnings;
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

  #otherKind(name: string, stored: string, declared: string): StateMigrationError {
    return new StateMigrationError(
      `state "${name}" of ${this.operatorName} was stored as ${stored} operator state and is ` +
        `declared as ${declared} state; give the new state another name, or declare it as before`,
      { details: { operator: this.operatorName, state: name, stored, declared } },
    );
  }
}

function isOperatorState(descriptor: StateDescriptor): descriptor is OperatorStateDescriptor {
  return descriptor.kind === 'operatorList' || descriptor.kind === 'broadcast';
}
