/** The JobMaster as those see it who operate a run from code. */
import type { RunControl, TakenSnapshot } from '../cli/run-contract.ts';
import type { JobMaster } from '../jobmanager/job-master.ts';
import type { CompletedCheckpoint } from '../protocol/checkpoint/completed-checkpoint-store.ts';
import { isMemoryLocation } from '../storage/snapshot-layout.ts';

export function runControl(master: JobMaster): RunControl {
  return {
    jobId: master.jobId,
    triggerCheckpoint: async () => taken(await master.triggerCheckpoint()),
    triggerSavepoint: async (directory) => taken(await master.triggerSavepoint(directory ?? null)),
    stopWithSavepoint: async ({ directory, drain = false } = {}) => {
      const mode = drain ? 'drain' : 'suspend';
      return taken(await master.stopWithSavepoint(mode, directory ?? null));
    },
    cancel: () => master.cancel(),
  };
}

function taken({ checkpointId, directory }: CompletedCheckpoint): TakenSnapshot {
  return { checkpointId, path: isMemoryLocation(directory) ? null : directory };
}
