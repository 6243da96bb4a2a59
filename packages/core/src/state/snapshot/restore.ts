/** Brings the state of an earlier snapshot into fresh backends, before the first record. */
import type { Clock } from '../../base/clock.ts';
import type { FileSystem } from '../../base/file-system.ts';
import type { OperatorRestore } from '../../protocol/messages.ts';
import type { HeapKeyedStateBackend } from '../heap/heap-keyed-state-backend.ts';
import type { OperatorStateBackend } from '../operator/operator-state-backend.ts';
import type { InternalTimers } from '../timers/internal-timers.ts';

export interface RestoreEnvironment {
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
  /** Directory of the snapshot, absolute: handles name their files relative to it. */
  readonly directory: string;
}

/** Restores the key groups of `backend`; resolves to warnings, such as states dropped. */
export async function restoreKeyed(
  _environment: RestoreEnvironment,
  _backend: HeapKeyedStateBackend,
  _restores: OperatorRestore['keyed'],
): Promise<readonly string[]> {
  return [];
}

export async function restoreTimers(
  _environment: RestoreEnvironment,
  _timers: InternalTimers,
  _restores: OperatorRestore['keyed'],
): Promise<void> {}

export async function restoreOperatorState(
  _environment: RestoreEnvironment,
  _backend: OperatorStateBackend,
  _restores: OperatorRestore['operatorStates'],
): Promise<readonly string[]> {
  return [];
}
