/**
 * `simulate(job, …)`: runs a user's job on the real engine in a simulated world, under many
 * schedules of crashes, and compares what its sinks hold with a run without failure.
 *
 * Three calm runs come first, since a schedule of crashes proves something only about a job that
 * gives the same without them: a second one at another time finds results that depend on the clock,
 * on randomness or on what an earlier run left behind; one with more subtasks finds results that
 * depend on parallelism.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { ConfigurationError, Configuration, isJob } from '@weir/core';
import type { Job } from '@weir/core';
import { argumentWords } from '@weir/core/internal/api/job-arguments';
import { seededRandom } from '@weir/core/internal/base/random';
import { prepareJob } from '@weir/core/internal/jobmanager/prepare-run';
import { checkOptions } from './check-options.ts';
import { compareRun, repeatedIn, sinkFacts } from './compare-run.ts';
import type { SinkFacts } from './compare-run.ts';
import type { OutputDifference } from './compare-outputs.ts';
import { FAULT_KINDS, faultTypesOf } from './fault-words.ts';
import { failureText } from './failure-text.ts';
import { likelyCauses } from './likely-causes.ts';
import type { Evidence } from './likely-causes.ts';
import { inputsOf, keysOf } from './replace-ends.ts';
import { calmPlan, drawPlan } from './run-plan.ts';
import type { PlanLimits, RunPlan } from './run-plan.ts';
import { shrink } from './shrink.ts';
import type { SimulateOptions, SimulationResult } from './simulate-options.ts';
import { runOnce } from './simulated-run.ts';
import type { RunOutcome, RunProblem, Subject } from './simulated-run.ts';
import { SimulationError } from './simulation-error.ts';
import type { SimulationFinding } from './simulation-error.ts';

const SEEDS = 100;
const PARALLELISMS: readonly number[] = [1, 2, 3, 4];
/** Another time of another day of another year. */
const OTHER_TIME_MS = 400 * 86_400_000 + 5 * 3_600_000 + 1_234_567;

/**
 * Runs a job under simulated crashes: its sources read `input`, its sinks write into memory, time
 * is virtual, and every schedule can be repeated by its seed.
 *
 * @returns what was run and compared, when every schedule gave what it should.
 * @throws SimulationError when a schedule gave other results, with the shortest one that did.
 * @throws ConfigurationError when an option is none, or does not fit the job.
 */
export async function simulate(job: Job, options: SimulateOptions = {}): Promise<SimulationResult> {
  if (!isJob(job))
    throw new ConfigurationError('simulate: expected a job, the default export of its module');
  checkOptions(options);
  const caller: { stack?: string } = {};
  Error.captureStackTrace(caller, simulate);
  const { stackTraceLimit } = Error;
  // Each attempt builds its job anew and looks up where; one frame is all it reads of a stack.
  Error.stackTraceLimit = 1;
  try {
    return await new Simulation(job, options).run();
  } catch (error) {
    // The user looks for his own call.
    if (error instanceof SimulationError) error.stack = stackFrom(error, caller.stack ?? '');
    throw error;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function stackFrom({ name, message }: Error, caller: string): string {
  return [`${name}: ${message}`, ...caller.split('\n').slice(1)].join('\n');
}

/** What is wrong with a run. */
interface Wrong {
  readonly problem: RunProblem | null;
  readonly differences: readonly OutputDifference[];
}

class Simulation {
  readonly #job: Job;
  readonly #options: SimulateOptions;
  readonly #subject: Subject;
  readonly #sinks: readonly SinkFacts[];
  readonly #limits: PlanLimits;
  readonly #notes: readonly string[];
  #expected: ReadonlyMap<string, readonly unknown[]> = new Map();

  constructor(job: Job, options: SimulateOptions) {
    const { input = {}, view = {}, args = {}, config = {}, parallelism, faults } = options;
    this.#job = job;
    this.#options = options;
    const words = argumentWords(args);
    const { streamGraph, configuration } = prepareJob(job, {
      arguments: words,
      // On, else a job that leaves that to its operator could not be prepared.
      configuration: Configuration.of({ 'execution.checkpointing.interval': 100, ...config }),
    });
    const inputs = inputsOf(streamGraph, input);
    const keys = keysOf(streamGraph, 'sink');
    this.#sinks = streamGraph.nodes.flatMap(({ id, spec }) => {
      const key = keys.get(id) ?? '';
      return spec.type === 'sink' ? [sinkFacts(key, spec.sink, view[key])] : [];
    });
    const sinks = this.#sinks.map(({ key }) => key);
    requireSinks('view', Object.keys(view), sinks);
    requireSinks('expect', Object.keys(options.expect ?? {}), sinks);
    this.#subject = { job, arguments: words, settings: config, inputs, sinks };
    this.#limits = {
      recordCount: [...inputs.values()].flat().reduce((sum, split) => sum + split.length, 0),
      parallelisms: parallelism === undefined ? PARALLELISMS : [parallelism].flat(),
      faults: faultTypesOf(faults ?? FAULT_KINDS),
    };
    const isAtLeastOnce = configuration.get('execution.checkpointing.mode') === 'AT_LEAST_ONCE';
    this.#notes = notesOf(this.#sinks, isAtLeastOnce);
  }

  async run(): Promise<SimulationResult> {
    const calm = await this.#runCalm();
    const { seed, seeds = SEEDS, onProgress, signal } = this.#options;
    const all =
      seed === undefined ? Array.from({ length: seeds }, (_, index) => index + 1) : [seed];
    const sums = { kills: 0, restores: 0, checkpoints: 0 };
    const repeated = this.#sinks.map(() => 0);
    let story = calm.story;
    for (const [index, one] of all.entries()) {
      signal?.throwIfAborted();
      const plan = drawPlan(one, (label) => seededRandom(one).derive(label), this.#limits);
      const outcome = await runOnce(this.#subject, plan);
      this.#requireNoTimers(outcome);
      const wrong = this.#wrongWith(outcome);
      if (wrong !== null) throw await this.#failed(outcome, wrong);
      sums.kills += outcome.kills;
      sums.restores += outcome.restores;
      sums.checkpoints += outcome.completedCheckpoints;
      for (const [place, sink] of this.#sinks.entries())
        repeated[place] =
          (repeated[place] ?? 0) + repeatedIn(sink, this.#expected, outcome.outputs);
      ({ story } = outcome);
      onProgress?.({ done: index + 1, total: all.length, seed: one, ...sums });
      // Let timers of the test runner and signals have their turn.
      await turn();
    }
    return {
      job: this.#job.name,
      schedules: all.length,
      ...sums,
      outputs: Object.fromEntries(calm.outputs),
      sinks: this.#sinks.map(({ key, write, comparison }, place) => {
        return { sink: key, write, comparison, repeated: repeated[place] ?? 0 };
      }),
      notes: this.#notes,
      story,
    };
  }

  /** What the job gives when nothing happens; throws when that is not the same every time. */
  async #runCalm(): Promise<RunOutcome> {
    const { recordCount, parallelisms } = this.#limits;
    const run = (parallelism: number, wallOffsetMs = 0): Promise<RunOutcome> =>
      runOnce(this.#subject, calmPlan(recordCount, parallelism, wallOffsetMs));
    const first = parallelisms.includes(1) ? 1 : (parallelisms[0] ?? 1);
    const calm = await run(first);
    this.#expected = calm.outputs;
    this.#requireNoTimers(calm);
    this.#requireNone(calm, 'job-failed');
    const later = await run(first, OTHER_TIME_MS);
    const wrong = this.#wrongWith(later);
    if (wrong !== null) {
      const again = await run(first);
      const keepsState = this.#wrongWith(again) !== null;
      throw this.#error('not-deterministic', { ...wrong, outcome: later, keepsState });
    }
    const most = Math.max(...parallelisms);
    if (most > first) this.#requireNone(await run(most), 'depends-on-parallelism');
    const { expect } = this.#options;
    if (expect !== undefined) {
      this.#expected = new Map([...calm.outputs, ...Object.entries(expect)]);
      this.#requireNone(calm, 'unexpected-result');
    }
    return calm;
  }

  /** They are in no checkpoint; and as they never fire here, nothing else would show them. */
  #requireNoTimers(outcome: RunOutcome): void {
    if (outcome.timers.length === 0) return;
    throw this.#error('sets-timers', { problem: null, differences: [], outcome });
  }

  #requireNone(outcome: RunOutcome, finding: SimulationFinding): void {
    const wrong = this.#wrongWith(outcome);
    if (wrong !== null) throw this.#error(finding, { ...wrong, outcome });
  }

  #wrongWith({ problem, outputs }: RunOutcome): Wrong | null {
    const differences = problem === null ? compareRun(this.#sinks, this.#expected, outputs) : [];
    return problem === null && differences.length === 0 ? null : { problem, differences };
  }

  /** The error for a schedule that failed, made as short as it gets. */
  async #failed(outcome: RunOutcome, wrong: Wrong): Promise<SimulationError> {
    const sameKind = (other: RunOutcome): Wrong | null => {
      const found = this.#wrongWith(other);
      return found?.problem?.kind === wrong.problem?.kind ? found : null;
    };
    const run = (plan: RunPlan): Promise<RunOutcome> => runOnce(this.#subject, plan);
    const shortest = await shrink({ outcome, failure: wrong }, run, sameKind);
    const found = {
      ...shortest.failure,
      outcome: shortest.outcome,
      seed: outcome.plan.seed,
      tried: shortest.tried,
    };
    if (await this.#isOtherEachTime(shortest.outcome))
      return this.#error('not-deterministic', { ...found, keepsState: true });
    const { faults, parallelisms } = shortest.outcome.plan;
    const withoutFault = parallelisms.every((one) => one === 1)
      ? 'depends-on-order'
      : 'depends-on-parallelism';
    return this.#error(faults.length > 0 ? 'wrong-result' : withoutFault, found);
  }

  /** Whether a schedule gives other results when it is run once more. */
  async #isOtherEachTime({ plan, problem, outputs }: RunOutcome): Promise<boolean> {
    const again = await runOnce(this.#subject, plan);
    if (again.problem?.kind !== problem?.kind) return true;
    return problem === null && compareRun(this.#sinks, outputs, again.outputs).length > 0;
  }

  /** `finding`: where only results differ; else the problem says what it is. */
  #error(
    finding: SimulationFinding,
    found: Wrong & {
      readonly outcome: RunOutcome;
      readonly keepsState?: boolean;
      readonly seed?: number;
      readonly tried?: number;
    },
  ): SimulationError {
    const { problem, differences, outcome, seed = null, tried = 1 } = found;
    const real = problem === null ? finding : PROBLEMS[problem.kind];
    const evidence: Evidence = {
      finding: real,
      outcome,
      uses: finding === 'sets-timers' ? outcome.timers : outcome.uses,
      keepsState: found.keepsState ?? false,
    };
    const failure = {
      finding: real,
      job: this.#job.name,
      seed,
      differences,
      // Of a calm run there is nothing to tell.
      story: seed === null ? [] : outcome.story,
      causes: likelyCauses(evidence),
    };
    const reason = problem?.message ?? null;
    return new SimulationError(failureText({ failure, reason, tried }), failure);
  }
}

const PROBLEMS: Readonly<Record<RunProblem['kind'], SimulationFinding>> = {
  failed: 'job-failed',
  unfinished: 'job-not-finished',
  engine: 'engine',
};

function requireSinks(option: string, given: readonly string[], known: readonly string[]): void {
  const unknown = given.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new ConfigurationError(
    `simulate: ${option} names the sink "${unknown}", which the job does not have; it has ` +
      known.map((key) => `"${key}"`).join(', '),
  );
}

function notesOf(sinks: readonly SinkFacts[], isAtLeastOnce: boolean): readonly string[] {
  const notes = sinks
    .filter(({ comparison }) => comparison === 'repeatable')
    .map(
      ({ key, write }) =>
        `sink "${key}" (${write}) may repeat records after a failure; that is not reported, only ` +
        'what is missing or wrong',
    );
  if (isAtLeastOnce)
    notes.push(
      'the job asks for AT_LEAST_ONCE checkpoints, after which its state may count records ' +
        'twice; the simulation runs it with EXACTLY_ONCE',
    );
  return notes;
}
