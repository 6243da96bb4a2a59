/** Keyed state in a table on the heap: one entry a key, changed in place. */
import type { KeyValue } from '../../api/functions.ts';
import type { StateDeclaration } from '../../api/state.ts';
import { unreachable } from '../../base/assert.ts';
import type { KeyedStateMeta } from '../../protocol/snapshot.ts';
import type {
  KeyedSnapshotCursor,
  KeyedStateBackend,
  SectionOutput,
} from '../keyed-state-backend.ts';

export interface HeapBackendOptions {
  readonly maxParallelism: number;
  /** First and last key group of the subtask, both included. */
  readonly keyGroups: readonly [number, number];
  /** Name of the operator, for messages. */
  readonly operatorName: string;
  /** Freeze values deeply, so that tests see mutations that the types forbid. */
  readonly freeze?: boolean;
}

export class HeapKeyedStateBackend implements KeyedStateBackend {
  readonly keyGroups: readonly [number, number];

  constructor(options: HeapBackendOptions) {
    this.keyGroups = options.keyGroups;
  }

  get states(): readonly KeyedStateMeta[] {
    return [];
  }

  get keyCount(): number {
    return 0;
  }

  get currentKey(): KeyValue {
    return 0;
  }

  setCurrentKey(_key: KeyValue): void {}

  clearCurrentKey(): void {}

  handlesFor(_declaration: StateDeclaration): Record<string, unknown> {
    return {};
  }

  startSnapshot(_output: SectionOutput): KeyedSnapshotCursor {
    return unreachable(_output as never);
  }
}
