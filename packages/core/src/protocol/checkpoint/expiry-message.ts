/**
 * Says of an expired checkpoint where it hangs. A subtask whose producers have all acknowledged has
 * the barrier, or should have it, and holds it; what lies behind such a one only waits for it.
 */
import { attemptName } from '../../base/ids.ts';
import type { ExecutionRef } from '../../base/ids.ts';
import { keyOf } from './job-topology.ts';
import type { JobTopology } from './job-topology.ts';
import type { PendingCheckpoint } from './pending-checkpoint.ts';

/** More names would hide the first. */
const NAMES_MAX = 5;

export function expiryMessage(
  pending: PendingCheckpoint,
  topology: JobTopology,
  now: number,
): string {
  const { checkpointId, startedAt, missing } = pending;
  const head = `checkpoint ${checkpointId} did not complete within ${now - startedAt} ms`;
  if (!pending.isKnownToTasks) {
    const step = pending.directory === null ? 'its directory' : 'the snapshot of the sources';
    return `${head}: ${step} was not ready by then`;
  }
  const missingKeys = new Set(missing.map(keyOf));
  const isHolder = (task: ExecutionRef): boolean =>
    !topology.producersOf(task).some((producer) => missingKeys.has(producer));
  const holders = missing.filter(isHolder).map((task) => {
    const heldMs = now - barrierAt(pending, topology, task);
    const attempt = attemptName(task.attempt);
    return `${topology.nameOf(task)}, attempt ${attempt}, has held the barrier for ${heldMs} ms`;
  });
  const waiters = missing.filter((task) => !isHolder(task)).map((task) => topology.nameOf(task));
  return (
    `${head}: ${missing.length} of ${pending.plan.tasksToWaitFor.length} subtasks have not ` +
    `acknowledged. ${shorten(holders)}. ` +
    (waiters.length === 0 ? '' : `Waiting for the barrier: ${shorten(waiters)}. `) +
    'Look there for blocking code or back-pressure, or raise execution.checkpointing.timeout'
  );
}

/** When the last producer was through with the barrier, as far as its acknowledgement tells. */
function barrierAt(pending: PendingCheckpoint, topology: JobTopology, task: ExecutionRef): number {
  let at = pending.startedAt;
  for (const producer of topology.producersOf(task))
    at = Math.max(at, pending.acknowledgements.get(producer)?.at ?? 0);
  return at;
}

function shorten(names: readonly string[]): string {
  const rest = names.length - NAMES_MAX;
  return names.slice(0, NAMES_MAX).join('; ') + (rest > 0 ? `; and ${rest} more` : '');
}
