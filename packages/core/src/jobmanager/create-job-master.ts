/** Puts the JobManager of one run together from its job, its configuration and its state. */
import type { Clock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { TaskManagerMessage } from '../protocol/messages.ts';
import { JobMaster } from './job-master.ts';
import type { JobMasterListener } from './job-master.ts';
import {
  allowsOlder,
  checkpointSettings,
  failoverStrategy,
  restartSettings,
} from './job-settings.ts';
import type { PreparedJob } from './prepare-run.ts';
import type { RunState } from './run-state.ts';

/** What the platform gives the JobManager. */
export interface JobMasterPlatform {
  readonly clock: Clock;
  readonly random: Random;
  readonly fileSystem: FileSystem;
  readonly logger: Logger;
  readonly listener: JobMasterListener;
  /** Where relative paths of the user begin; by default at the root. */
  readonly workingDirectory?: string;
  /** Takes a message to the thread that runs the slot. */
  send(slot: number, message: TaskManagerMessage): void;
}

export function createJobMaster(
  platform: JobMasterPlatform,
  prepared: PreparedJob,
  state: Extract<RunState, { type: 'run' }>,
): JobMaster {
  const { configuration } = prepared;
  return new JobMaster({
    ...platform,
    send: (slot, message) => platform.send(slot, message),
    jobId: state.jobId,
    epoch: state.epoch,
    jobGraph: state.jobGraph,
    streamGraph: prepared.streamGraph,
    checkpointing: checkpointSettings(configuration),
    savepointDirectory: configuration.get('execution.checkpointing.savepoint-dir'),
    workingDirectory: platform.workingDirectory ?? '/',
    checkpointHistoryMax: configuration.get('web.checkpoints.history'),
    restartStrategy: restartSettings(configuration),
    failoverStrategy: failoverStrategy(configuration),
    maxRepeatedFailures: configuration.get('weir.restart-strategy.max-repeated-failures'),
    parallelCleaning: configuration.get('execution.checkpointing.cleaner.parallel-mode'),
    storage: state.storage,
    persistence: state.persistence,
    completed: state.completed,
    lastCheckpointId: state.lastCheckpointId,
    unfinishedCleanUp: state.unfinishedCleanUp,
    initial: state.initial,
    allowNonRestored: state.allowNonRestored,
    allowOlder: allowsOlder(configuration),
  });
}
