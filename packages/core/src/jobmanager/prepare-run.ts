/** Evaluates a job and compiles its graph, before anything is read or written. */
import type { ArgumentValues } from '../api/job-arguments.ts';
import { parseJobArguments } from '../api/job-arguments.ts';
import { buildStreamGraph } from '../api/build-stream-graph.ts';
import type { BuiltJob as EvaluatedJob, JobSettings } from '../api/build-stream-graph.ts';
import type { Job } from '../api/job.ts';
import type { StreamGraph } from '../api/stream-graph.ts';
import { Configuration } from '../base/configuration.ts';
import { JobSubmissionError } from '../base/errors.ts';
import { didYouMean } from '../base/nearest.ts';
import { checkPublishing } from '../graph/check-publishing.ts';
import { compileJobGraph } from '../graph/compile-job-graph.ts';
import { checkRequiredGuarantee } from '../graph/explain-guarantee.ts';
import { planGuarantees } from '../graph/guarantee-planner.ts';
import type { GuaranteePlan } from '../graph/guarantee-planner.ts';
import type { JobGraph } from '../protocol/job-graph.ts';
import { guaranteeSettings } from './guarantee-settings.ts';

export interface JobInputs {
  /** Given at the start: file and -D, with `-p` among it. */
  readonly configuration: Configuration;
  /** The job's own arguments, as given. */
  readonly arguments: readonly string[];
  /** As `JobGraph.codeHash`. */
  readonly codeHash?: string | undefined;
  readonly printLine?: (line: string) => void;
  /** As of `buildStreamGraph`. */
  readonly changeGraph?: (graph: StreamGraph) => StreamGraph;
  /** False where nothing runs: the job may then guarantee less than it requires. */
  readonly willRun?: boolean;
}

export interface PreparedJob {
  readonly streamGraph: StreamGraph;
  readonly jobGraph: JobGraph;
  /** Defaults, code, file and -D together. */
  readonly configuration: Configuration;
  /** What every path guarantees, and is no weaker than what is required. */
  readonly guarantees: GuaranteePlan;
  readonly warnings: readonly string[];
}

/** The layer of `-p`: it wins over everything but `setParallelism` of single operators. */
export function withParallelism(base: Configuration, parallelism: number | null): Configuration {
  if (parallelism === null) return base;
  return base.mergedWith(Configuration.of({ 'parallelism.default': parallelism }, '-p'));
}

export function prepareJob(job: Job, inputs: JobInputs): PreparedJob {
  const { graph, settings } = evaluate(job, inputs);
  const { configuration } = settings;
  checkPublishing(graph, configuration.get('execution.checkpointing.interval') !== null);
  const guarantees = planGuarantees(graph, guaranteeSettings(configuration));
  if (inputs.willRun !== false) checkRequiredGuarantee(guarantees);
  const maxParallelism = configuration.get('pipeline.max-parallelism');
  const { jobGraph, warnings } = compileJobGraph(graph, {
    defaultParallelism: configuration.get('parallelism.default'),
    ...(maxParallelism === null ? {} : { defaultMaxParallelism: maxParallelism }),
    chaining: configuration.get('pipeline.operator-chaining.enabled'),
  });
  const { codeHash } = inputs;
  return {
    streamGraph: graph,
    jobGraph: codeHash === undefined ? jobGraph : { ...jobGraph, codeHash },
    configuration,
    guarantees,
    warnings: [...settings.warnings, ...unreadArguments(settings), ...warnings],
  };
}

/**
 * The job as it is known, with functions of its own: for another attempt, which shares nothing with
 * the others. Its function runs anew, and must build the same graph.
 */
export function rebuildJob(job: Job, inputs: JobInputs, known: PreparedJob): PreparedJob {
  const { graph } = evaluate(job, inputs);
  if (!isSameGraph(graph, known.streamGraph)) throw planChanged(job.name, 'for another attempt');
  return { ...known, streamGraph: graph };
}

function evaluate(job: Job, inputs: JobInputs): EvaluatedJob {
  const args: ArgumentValues = parseJobArguments(inputs.arguments);
  const { configuration, printLine, changeGraph } = inputs;
  return buildStreamGraph(job, {
    args,
    configuration,
    ...(printLine === undefined ? {} : { printLine }),
    ...(changeGraph === undefined ? {} : { changeGraph }),
  });
}

/** As far as can be seen for little: what is built is told apart by its names. */
function isSameGraph(graph: StreamGraph, known: StreamGraph): boolean {
  return (
    graph.edges.length === known.edges.length &&
    graph.nodes.length === known.nodes.length &&
    graph.nodes.every(({ id, name, uid, spec }, index) => {
      const other = known.nodes[index];
      return (
        id === other?.id &&
        name === other.name &&
        uid === other.uid &&
        spec.type === other.spec.type
      );
    })
  );
}

/** Options of `weir run` without which the job would begin with empty state. */
const RESTORING = ['s', 'fromSavepoint'];
const OTHER_OPTIONS =
  /^(p|parallelism|n|allowNonRestoredState|cm|claimMode|fresh|append|D.*|job-id|no-rest|config)$/;

/**
 * An argument that nobody asked for is probably misspelt, or stands in the wrong place.
 * @throws JobSubmissionError when it was to name a snapshot.
 */
function unreadArguments({ argumentsRead, argumentsUnread }: JobSettings): readonly string[] {
  const restoring = argumentsUnread.find((name) => RESTORING.includes(name));
  if (restoring !== undefined)
    throw new JobSubmissionError(
      `-${restoring} stands behind the job file and so belongs to the job, which does not read ` +
        'it; the job would begin without state. Write it before: weir run -s PATH JOB',
      { code: 'ARGUMENT_INVALID', details: { name: restoring } },
    );
  return argumentsUnread.map((name) => {
    if (OTHER_OPTIONS.test(name))
      return (
        `the job does not read the argument --${name}; if it is meant for weir, write it before ` +
        'the job file'
      );
    const missing = argumentsRead.filter((read) => !argumentsUnread.includes(read));
    return `the job does not read the argument --${name}${didYouMean(name, missing)}`;
  });
}

/** The same job, evaluated again, must build the same graph. */
export function requireSamePlan(jobGraph: JobGraph, planHash: string): void {
  if (jobGraph.planHash === planHash) return;
  const difference = `plan ${jobGraph.planHash.slice(0, 12)} instead of ${planHash.slice(0, 12)}`;
  throw planChanged(jobGraph.jobName, difference);
}

function planChanged(jobName: string, difference: string): JobSubmissionError {
  return new JobSubmissionError(
    `job "${jobName}" built another graph when it was evaluated again (${difference}): the job's ` +
      'function must not depend on time, randomness, or anything but its arguments',
    { code: 'PLAN_CHANGED' },
  );
}
