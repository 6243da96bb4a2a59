/** StreamGraph → JobGraph. */
import type { StreamGraph } from '../api/stream-graph.ts';
import type { JobGraph } from '../protocol/job-graph.ts';

export interface CompileOptions {
  readonly defaultParallelism: number;
  /** Maximum parallelism set for the whole job; absent: derived from the parallelism. */
  readonly defaultMaxParallelism?: number;
}

export interface CompiledJob {
  readonly jobGraph: JobGraph;
  /** Sentences for the user: stateful operators without uid, results that nobody reads. */
  readonly warnings: readonly string[];
}

/** Throws `GraphValidationError`. */
export function compileJobGraph(_streamGraph: StreamGraph, _options: CompileOptions): CompiledJob {
  throw new Error('stub');
}
