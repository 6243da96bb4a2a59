/**
 * `@weir/core`: what a job imports. Nothing here loads the engine, an HTTP server, a bundler, a
 * schema or YAML library; the engine behind `runJob` is loaded when it is called.
 */
import type { Job } from './api/job.ts';
import type { RunOutcome } from './cli/run-contract.ts';
import type { RunJobOptions } from './cluster/run-job.ts';

export { job, isJob } from './api/job.ts';
export type { Job } from './api/job.ts';
export { StreamExecutionEnvironment } from './api/stream-execution-environment.ts';
export type { Guarantee, SourceOptions } from './api/stream-execution-environment.ts';
export type {
  CheckpointConfig,
  CheckpointingMode,
  CheckpointRetention,
} from './api/checkpoint-config.ts';
export type { RestartStrategy } from './api/restart-strategy.ts';
export { JobArguments } from './api/job-arguments.ts';
export type { ArgumentValue, ArgumentValues } from './api/job-arguments.ts';
export type { DataStream, RecordOf } from './api/streams/data-stream.ts';
export type { DataStreamSink } from './api/streams/data-stream-sink.ts';
export type { SingleOutputStreamOperator } from './api/streams/single-output-stream-operator.ts';
export type { KeyedStream } from './api/streams/keyed-stream.ts';
export type { ConnectedStreams, KeyedConnectedStreams } from './api/streams/connected-streams.ts';
export type {
  BroadcastConnectedStream,
  BroadcastStream,
  KeyedBroadcastConnectedStream,
} from './api/streams/broadcast-stream.ts';
export {
  aggregatingState,
  broadcastState,
  listState,
  mapState,
  operatorListState,
  reducingState,
  unionListState,
  valueState,
} from './api/state-descriptors.ts';
export type { StandardSchema, StateEvolution } from './api/state-evolution.ts';
export { outputTag, type } from './api/type-markers.ts';
export {
  boundedOutOfOrderness,
  monotonousTimestamps,
  noWatermarks,
  withIdleness,
} from './api/watermarks.ts';
export type { TimestampOf, WatermarkOptions } from './api/watermarks.ts';
export type * from './api/functions.ts';
export type * from './api/guarantee-facts.ts';
export type * from './api/sink.ts';
export { TwoPhaseCommitSink } from './api/two-phase-commit-sink.ts';
export type { TransactionalCommitter, TransactionalWriter } from './api/two-phase-commit-sink.ts';
export type * from './api/transaction-inspector.ts';
export type * from './api/source.ts';
export type * from './api/state.ts';
export type { Duration } from './base/duration.ts';
export { Configuration } from './base/configuration.ts';
export type { ConfigInput, ConfigKey, ConfigSettings, ConfigValue } from './base/config-options.ts';
export { ERROR_CODES } from './base/error-codes.ts';
export type { ErrorCode } from './base/error-codes.ts';
export {
  CancelledError,
  ConfigurationError,
  ConnectionLostError,
  FencedError,
  GraphValidationError,
  JobSubmissionError,
  SerializationError,
  StateCorruptionError,
  StateMigrationError,
  StorageUnavailableError,
  UserFunctionError,
  WeirError,
  errorKind,
  isWeirError,
  messageOf,
} from './base/errors.ts';
export type { ErrorKind } from './base/errors.ts';
export { sleep } from './base/clock.ts';
export type { Clock, Timer } from './base/clock.ts';
export { compareAttempts } from './base/ids.ts';
export type { Attempt, JobId, OperatorId } from './base/ids.ts';
export type { FileReader, FileStat, FileSystem, FileWriter } from './base/file-system.ts';
export type { Logger, LogLevel } from './base/logger.ts';
export type { Random } from './base/random.ts';
export * from './connectors/index.ts';
export type { RunControl, RunEvent, RunOutcome, TakenSnapshot } from './cli/run-contract.ts';
export type { RunJobOptions } from './cluster/run-job.ts';

/**
 * Runs a job to its end: in the present thread when given as an object, in worker threads when
 * given as the URL or path of its module.
 *
 * @returns how the run ended.
 * @throws what made the job fail, or why it could not start; errors carry `code` and `kind`.
 */
export async function runJob(
  job: Job | URL | string,
  options?: RunJobOptions,
): Promise<RunOutcome> {
  const engine = await import('./cluster/run-job.ts');
  return engine.runJob(job, options);
}
