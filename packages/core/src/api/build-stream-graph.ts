/**
 * Evaluates a job: calls its function with a new environment and returns the graph and the settings
 * of the run. Called once by the JobManager and again for every attempt of every subtask, so that
 * function objects are never shared.
 */
import { checkConfiguration } from '../base/check-configuration.ts';
import { Configuration } from '../base/configuration.ts';
import { JobSubmissionError, isWeirError, messageOf } from '../base/errors.ts';
import type { ArgumentValues } from './job-arguments.ts';
import type { Job } from './job.ts';
import type { MapLocation } from './location.ts';
import { StreamExecutionEnvironment } from './stream-execution-environment.ts';
import type { StreamGraph } from './stream-graph.ts';

export interface BuildOptions {
  readonly args?: ArgumentValues;
  /** What the run was given by file and `-D`; wins over what the job sets. */
  readonly configuration?: Configuration;
  /** Maps places in a bundle to the sources they were made from. */
  readonly mapLocation?: MapLocation;
  /** Where `print` writes its lines; by default to the log. */
  readonly printLine?: (line: string) => void;
  /** Changes the graph as the job built it: a simulation puts sources and sinks of its own in. */
  readonly changeGraph?: (graph: StreamGraph) => StreamGraph;
}

export interface JobSettings {
  /** Defaults, code, file and `-D` together, checked. */
  readonly configuration: Configuration;
  /** Names of arguments that the job asked for, given or not. */
  readonly argumentsRead: readonly string[];
  /** Names of arguments given that the job never asked for: probably misspelt. */
  readonly argumentsUnread: readonly string[];
  /** What should be told to the user before the run, a sentence each. */
  readonly warnings: readonly string[];
}

export interface BuiltJob {
  readonly graph: StreamGraph;
  readonly settings: JobSettings;
}

/**
 * @throws ConfigurationError, GraphValidationError, JobSubmissionError as the job's calls do;
 * JobSubmissionError JOB_NOT_LOADABLE when the job's function itself throws.
 */
export function buildStreamGraph(job: Job, options: BuildOptions = {}): BuiltJob {
  const env = new StreamExecutionEnvironment({
    jobName: job.name,
    args: options.args ?? {},
    configuration: options.configuration ?? Configuration.empty,
    mapLocation: options.mapLocation,
    printLine: options.printLine ?? null,
  });
  callBuild(job, env);
  const built = env.finishGraph();
  const graph = options.changeGraph?.(built) ?? built;
  const { configuration, args } = env;
  const warnings = checkConfiguration(configuration);
  return {
    graph,
    settings: {
      configuration,
      argumentsRead: args.namesRead,
      argumentsUnread: args.namesUnread,
      warnings,
    },
  };
}

function callBuild(job: Job, env: StreamExecutionEnvironment): void {
  const build: (env: StreamExecutionEnvironment) => unknown = job.build;
  let result: unknown;
  try {
    result = build(env);
  } catch (error) {
    if (isWeirError(error)) throw error;
    throw new JobSubmissionError(
      `job "${job.name}" threw while it built its graph: ${messageOf(error)}`,
      { code: 'JOB_NOT_LOADABLE', cause: error },
    );
  }
  if (typeof result === 'object' && result !== null && 'then' in result)
    throw new JobSubmissionError(
      `job "${job.name}": the function must not return a promise; ` +
        'await what it needs at the top of the module',
      { code: 'JOB_NOT_LOADABLE' },
    );
}
