/** Operator state of one operator in one subtask: list, union list and broadcast states. */
import type { StateDeclaration } from '../../api/state.ts';
import type { SectionOutput } from '../keyed-state-backend.ts';
import type { OperatorStateSnapshot } from '../../protocol/snapshot.ts';

export interface OperatorStateOptions {
  readonly operatorName: string;
  readonly subtask: number;
  readonly parallelism: number;
  readonly freeze?: boolean;
}

export class OperatorStateBackend {
  constructor(_options: OperatorStateOptions) {}

  /** Handles of the operator states in `declaration`; keyed states in it are left out. */
  handlesFor(_declaration: StateDeclaration): Record<string, unknown> {
    return {};
  }

  /** Encodes all items at once: operator state is small. */
  snapshot(_output: SectionOutput): readonly OperatorStateSnapshot[] {
    return [];
  }

  /** Adds the items of an earlier snapshot, in order. States no longer declared are returned. */
  restore(
    _states: readonly {
      readonly name: string;
      readonly mode: 'list' | 'union' | 'broadcast';
      readonly items: readonly unknown[];
    }[],
  ): readonly string[] {
    return [];
  }
}
