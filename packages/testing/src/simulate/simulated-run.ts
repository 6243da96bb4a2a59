/**
 * One run of a user's job in a simulated world, by one plan: from the first start, over all kills
 * and restarts, to its end. What it published, and what happened on the way.
 */
import { Configuration } from '@weir/core';
import type { ConfigSettings, Job } from '@weir/core';
import type { JobInputs } from '@weir/core/internal/jobmanager/prepare-run';
import { Machine } from '@weir/simulation/engine/machine';
import { Supervisor } from '@weir/simulation/engine/supervisor';
import { injectFaults } from '@weir/simulation/faults/inject';
import { OuterSystem } from '@weir/simulation/jobs/outer-system';
import type { OuterMood } from '@weir/simulation/jobs/outer-system';
import { Life } from '@weir/simulation/world/life';
import { World } from '@weir/simulation/world/world';
import { withAmbient } from './ambient.ts';
import type { AmbientUse } from './ambient.ts';
import type { PlainOutputs } from './memory-sinks.ts';
import { replaceEnds } from './replace-ends.ts';
import type { Inputs } from './replace-ends.ts';
import type { RunPlan } from './run-plan.ts';
import { RunStory } from './run-story.ts';

/** What is the same in all runs of one simulation. */
export interface Subject {
  readonly job: Job;
  /** As on the command line. */
  readonly arguments: readonly string[];
  readonly settings: ConfigSettings;
  readonly inputs: Inputs;
  /** Keys of all sinks. */
  readonly sinks: readonly string[];
}

/**
 * Why a run has no result: the job `failed`, `unfinished` it did not come to its end, or the
 * `engine` broke a promise of its own.
 */
export interface RunProblem {
  readonly kind: 'failed' | 'unfinished' | 'engine';
  readonly message: string;
}

export interface RunOutcome {
  readonly plan: RunPlan;
  readonly problem: RunProblem | null;
  readonly outputs: ReadonlyMap<string, readonly unknown[]>;
  readonly uses: readonly AmbientUse[];
  /** Where functions of the job set timers of their own, which never fire here. */
  readonly timers: readonly AmbientUse[];
  readonly kills: number;
  readonly completedCheckpoints: number;
  readonly restores: number;
  readonly virtualMs: number;
  /** What happened, a line each, in order. */
  readonly story: readonly string[];
}

/** After the faults have ended the job has so much time to finish. */
const LIVENESS_MS = 120_000;
/** What stands in the way of a job that does not end, at most. */
const WAITING_SHOWN = 8;

export async function runOnce(subject: Subject, plan: RunPlan): Promise<RunOutcome> {
  const run = new SimulatedRun(subject, plan);
  const { result, uses, timers } = await withAmbient(run.ambient, () => run.run());
  return { ...result, uses, timers };
}

class SimulatedRun {
  readonly #subject: Subject;
  readonly #plan: RunPlan;
  readonly #world: World;
  readonly #machine: Machine;
  readonly #outer: OuterSystem<unknown>;
  readonly #outerMood: OuterMood;
  readonly #plain: PlainOutputs = new Map();
  readonly #fragility = { chance: 0 };
  readonly #story: RunStory;
  readonly #supervisor: Supervisor;
  readonly ambient: Parameters<typeof withAmbient>[0];

  constructor(subject: Subject, plan: RunPlan) {
    const { job, settings } = subject;
    const { seed, moods, parallelisms } = plan;
    const world = new World({ seed, keepsTrace: false });
    this.#subject = subject;
    this.#plan = plan;
    this.#world = world;
    const story = new RunStory(world, subject.inputs);
    this.#story = story;
    // Faults change the moods: each run has its own.
    const machine = new Machine({
      world,
      moods: structuredClone(moods),
      observer: (disk) => story.observer(disk),
    });
    machine.wall.offsetMs = plan.wallOffsetMs;
    this.#machine = machine;
    this.#outerMood = { latencyMs: plan.outerLatencyMs, failure: 0, lostAnswer: 0, isDown: false };
    this.#outer = new OuterSystem(world, this.#outerMood, null);
    this.#supervisor = new Supervisor({
      machine,
      job,
      inputs: this.#inputs(),
      configuration: Configuration.of({ ...settings, ...plan.settings }, 'simulate'),
      parallelisms,
      random: world.random('supervisor'),
    });
    const clock = machine.clockOf(new Life('job', 0));
    // Not the same in two runs that differ in their time alone.
    const random = world.random(`ambient ${plan.wallOffsetMs}`);
    this.ambient = {
      wallTime: () => clock.wallTime(),
      now: () => clock.now(),
      random: () => random.next(),
    };
  }

  async run(): Promise<Omit<RunOutcome, 'uses' | 'timers'>> {
    const { faults, healAt } = this.#plan;
    injectFaults(faults, {
      machine: this.#machine,
      supervisor: this.#supervisor,
      outer: this.#outer,
      outerMood: this.#outerMood,
      fragility: this.#fragility,
      healAt,
    });
    this.#story.addFaults(faults, healAt);
    this.#supervisor.start();
    const problem = await this.#runToEnd();
    if (problem === null) this.#story.add('finished');
    const { completedCount, restoredCount } = this.#machine.observer;
    return {
      plan: this.#plan,
      problem,
      outputs: this.#outputs(),
      kills: this.#supervisor.kills,
      completedCheckpoints: completedCount,
      restores: restoredCount,
      virtualMs: this.#world.now,
      story: this.#story.lines(),
    };
  }

  async #runToEnd(): Promise<RunProblem | null> {
    const world = this.#world;
    // With nothing in the way there is no reason to try once more.
    const isCalm = this.#plan.faults.length === 0;
    const hasFailed = (): boolean => {
      const status = this.#supervisor.lastEnd?.status;
      return isCalm && (status === 'FAILED' || status === 'REFUSED');
    };
    const how = await world.run(
      () => this.#supervisor.isFinished || hasFailed(),
      this.#plan.healAt + LIVENESS_MS,
    );
    const violation = world.violation?.message ?? null;
    if (violation !== null) return { kind: 'engine', message: violation };
    const { thrownAt } = this.#story;
    const at = thrownAt === null ? '' : ` (${thrownAt})`;
    const end = this.#supervisor.lastEnd?.message ?? '';
    const lastEnd = end === '' ? '' : end + at;
    if (hasFailed()) return { kind: 'failed', message: lastEnd };
    if (how === 'over') return null;
    if (lastEnd !== '' && this.#supervisor.lastEnd?.status !== 'SUSPENDED')
      return { kind: 'failed', message: lastEnd };
    return { kind: 'unfinished', message: this.#stuck(how) };
  }

  #stuck(how: 'stuck' | 'late'): string {
    const waiting = this.#world.pending();
    const reason =
      how === 'late'
        ? `still running ${LIVENESS_MS / 1000} simulated seconds after the last fault`
        : 'nothing is left to happen: does a function wait for a real timer, file or socket?';
    const shown = waiting.slice(0, WAITING_SHOWN).map((line) => `\n  waiting: ${line}`);
    return reason + shown.join('');
  }

  #inputs(): Pick<JobInputs, 'arguments' | 'changeGraph'> {
    const world = this.#world;
    const random = world.random('fragility');
    const { inputs } = this.#subject;
    const ends = {
      inputs,
      pace: this.#plan.pace,
      onRead: (source: string, split: number, next: number): void => {
        this.#story.read(source, split, next);
        if (this.#fragility.chance > 0 && random.next() < this.#fragility.chance)
          throw new Error('the simulation makes this task fail');
      },
      sink: {
        system: this.#outer,
        outputs: this.#plain,
        beforeCommit: (checkpointId: number): void =>
          world.check(
            this.#machine.observer.mayCommit(checkpointId),
            () => `a sink commits for checkpoint ${checkpointId}, which is not durable`,
          ),
      },
    };
    return {
      arguments: this.#subject.arguments,
      changeGraph: (graph) => replaceEnds(graph, ends),
    };
  }

  #outputs(): ReadonlyMap<string, readonly unknown[]> {
    return new Map(
      this.#subject.sinks.map((key) => [key, this.#plain.get(key) ?? this.#outer.committed(key)]),
    );
  }
}
