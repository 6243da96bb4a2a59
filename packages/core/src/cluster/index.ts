/**
 * `@weir/core/cluster`: runs jobs from code, with everything that happens told as events. `runJob`
 * suffices for most; `loadJob` and `runLocal` are its two halves.
 */
export { loadJob } from './job-loader.ts';
export { runLocal } from './local-run.ts';
export { runJob } from './run-job.ts';
export type { RunJobOptions } from './run-job.ts';
export type {
  LoadedJob,
  RunControl,
  RunEvent,
  RunOptions,
  RunOutcome,
  TakenSnapshot,
  VertexProgress,
} from '../cli/run-contract.ts';
