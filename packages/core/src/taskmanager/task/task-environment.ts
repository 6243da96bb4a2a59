/** What tasks are given by the thread they run in: nothing here is a global. */
import type { StreamGraph } from '../../api/stream-graph.ts';
import type { Clock } from '../../base/clock.ts';
import type { FileSystem } from '../../base/file-system.ts';
import type { JobId } from '../../base/ids.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import type { DataExchange } from '../../network/data-exchange.ts';
import type { JobGraph } from '../../protocol/job-graph.ts';
import type { JobManagerMessage } from '../../protocol/messages.ts';
import type { ActiveOperator } from '../operators/active-operator.ts';
import type { LatencySettings } from './latency-markers.ts';

/** The settings a task reads; all come from the configuration of the run. */
export interface TaskSettings {
  /** `null`: no checkpoints. */
  readonly checkpointingMode: 'EXACTLY_ONCE' | 'AT_LEAST_ONCE' | null;
  readonly checkpointsAfterTasksFinish: boolean;
  /** Snapshots up to this size travel inside the acknowledgement. */
  readonly inlineThresholdBytes: number;
  /** How long a record may wait for its batch to fill; 0: not at all. */
  readonly bufferTimeoutMs: number;
  readonly autoWatermarkIntervalMs: number;
  readonly committerRetries: number;
  readonly latency: LatencySettings;
  /** Batches that may be under way on one channel before its sender waits. */
  readonly buffersPerChannel: number;
  /** Freeze state values, so that tests see mutations that the types forbid. */
  readonly freezeState: boolean;
  /** Records go through code generated for each chain. Default: wherever that is possible. */
  readonly generatesChains?: boolean;
}

/** The job's graphs, built anew for every attempt so that attempts share nothing. */
export interface BuiltJob {
  readonly streamGraph: StreamGraph;
  readonly jobGraph: JobGraph;
}

export interface TaskEnvironment {
  readonly jobId: JobId;
  readonly clock: Clock;
  readonly random: Random;
  readonly fileSystem: FileSystem;
  readonly logger: Logger;
  readonly exchange: DataExchange;
  readonly settings: TaskSettings;
  readonly active: ActiveOperator;
  buildJob(): BuiltJob;
  send(message: JobManagerMessage): void;
  /** Something can go on: the thread's loop should run. */
  wakeUp(): void;
}
