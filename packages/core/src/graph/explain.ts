/** Text and JSON of `weir explain`. */
import type { StreamGraph } from '../api/stream-graph.ts';
import type { CompiledJob } from './compile-job-graph.ts';

export interface ExplainedJob {
  readonly jobName: string;
  readonly planHash: string;
}

/** Facts of a compiled job for machines. */
export function explainJob(_compiled: CompiledJob, _streamGraph: StreamGraph): ExplainedJob {
  throw new Error('stub');
}

/** The same as text of at most 100 columns. */
export function explain(_compiled: CompiledJob, _streamGraph: StreamGraph): string {
  throw new Error('stub');
}
