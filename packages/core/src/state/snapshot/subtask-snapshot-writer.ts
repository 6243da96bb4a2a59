/** Collects the state of all operators of one subtask for one checkpoint into one data file. */
import { unreachable } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';
import type { FileSystem } from '../../base/file-system.ts';
import type { ExecutionRef, OperatorId } from '../../base/ids.ts';
import { attemptName } from '../../base/ids.ts';
import type { OperatorSnapshot, Section, StateHandle } from '../../protocol/snapshot.ts';
import type { KeyedStateBackend } from '../keyed-state-backend.ts';
import type { OperatorStateBackend } from '../operator/operator-state-backend.ts';
import type { InternalTimers } from '../timers/internal-timers.ts';

export interface SnapshotWriterOptions {
  /** Directory of the snapshot, absolute. */
  readonly location: string;
  readonly fileName: string;
  /** Up to this size the bytes travel in the acknowledgement and no file is written. */
  readonly inlineThresholdBytes: number;
}

export interface OperatorToSnapshot {
  readonly operatorId: OperatorId;
  readonly uid: string | null;
  readonly name: string;
  readonly type: string;
  readonly keyed: KeyedStateBackend | null;
  readonly timers: InternalTimers | null;
  readonly operatorState: OperatorStateBackend | null;
}

export interface WrittenSnapshot {
  /** `null` when there is no state at all. */
  readonly data: StateHandle | null;
  readonly operators: readonly OperatorSnapshot[];
  readonly sizeBytes: number;
}

/** Gives way to other work between slices. */
export type YieldFn = () => Promise<void>;

/** `<vertexId>-<subtask>-<attempt>.data` */
export function dataFileName(execution: ExecutionRef): string {
  const { vertexId, subtask, attempt } = execution;
  return `${vertexId}-${subtask}-${attemptName(attempt)}.data`;
}

export class SubtaskSnapshotWriter {
  constructor(_fileSystem: FileSystem, _clock: Clock, _options: SnapshotWriterOptions) {}

  /** The synchronous part: takes the operator's state as it is now. All operators in one turn. */
  addOperator(_operator: OperatorToSnapshot): void {}

  /** Adds bytes of another kind, such as frames in flight; possible until `finish`. */
  append(_bytes: Uint8Array, _count: number): Section {
    return unreachable(_count as never);
  }

  /** Walks the keyed state in slices of at most about 2 ms; may be called long before `finish`. */
  async writeKeyedState(_yieldFn: YieldFn): Promise<void> {}

  /** Writes what is left and publishes the file. Durable once resolved. */
  finish(_yieldFn: YieldFn): Promise<WrittenSnapshot> {
    return unreachable(_yieldFn as never);
  }

  /** Stops, lets go of all state and removes the unfinished file. Idempotent. */
  async cancel(): Promise<void> {}
}
