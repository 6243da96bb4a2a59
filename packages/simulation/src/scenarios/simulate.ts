/**
 * One schedule: what a scenario draws from a seed is run to the end and checked.
 */
import type { Sink } from '@weir/core/internal/api/sink';
import type { Random } from '@weir/core/internal/base/random';
import { fileSink } from '@weir/core/internal/connectors/file-sink';
import { ndjson } from '@weir/core/internal/connectors/formats/ndjson';
import { checkOutput } from '../checks/check-output.ts';
import { CutCheck } from '../checks/cut-check.ts';
import { LeftBehind } from '../checks/left-behind.ts';
import { ProtocolObserver } from '../checks/protocol-observer.ts';
import { leftFiles } from '../checks/left-files.ts';
import { Machine } from '../engine/machine.ts';
import { DATA_DIRECTORY } from '../engine/simulated-process.ts';
import { Supervisor } from '../engine/supervisor.ts';
import { injectFaults, injectNow } from '../faults/inject.ts';
import type { Fault } from '../faults/fault-plan.ts';
import type { FaultTargets } from '../faults/inject.ts';
import { buildJob } from '../jobs/build-job.ts';
import type { JobSpec, SinkSpec } from '../jobs/job-spec.ts';
import { KafkaOutput } from '../jobs/kafka-output.ts';
import { OuterSystem } from '../jobs/outer-system.ts';
import type { OuterMood } from '../jobs/outer-system.ts';
import { writeInputs } from '../jobs/input-files.ts';
import { plainSink } from '../jobs/plain-sink.ts';
import type { SimulatedRecord } from '../jobs/simulated-record.ts';
import { transactionSink } from '../jobs/transaction-sink.ts';
import { Life } from '../world/life.ts';
import { World } from '../world/world.ts';
import { watchMoments } from './moments.ts';
import { flipsBits, hasZombies } from './plan.ts';
import type { SchedulePlan } from './plan.ts';
import { SavepointStory } from './savepoint-story.ts';
import { RANDOM } from './scenario.ts';
import type { Scenario } from './scenario.ts';

export interface ScheduleOptions {
  readonly seed: number;
  /** Default: a random job under random faults. */
  readonly scenario?: Scenario;
  /** Answer with all that happened. Default: with the last events, when something failed. */
  readonly keepsTrace?: boolean;
  /** Whether one that fails is run once more, to tell what happened; default true. */
  readonly tells?: boolean;
  /** Changes what the scenario draws: leaves faults out, adds one at an event. */
  readonly change?: (plan: SchedulePlan) => SchedulePlan;
  /** In the place of random numbers: who tries all there is to choose. */
  readonly root?: Random;
  /** Asked before each event for a fault that is to happen there. */
  readonly beforeEvent?: () => Fault | null;
}

export interface ScheduleResult {
  readonly seed: number;
  readonly failure: string | null;
  readonly digest: number;
  readonly events: number;
  readonly virtualMs: number;
  readonly kills: number;
  readonly completedCheckpoints: number;
  readonly restores: number;
  readonly plan: SchedulePlan;
  /** Of each sequence of the plan, the steps whose moment has come. */
  readonly stepsDone: readonly number[];
  readonly savepoints: number;
  readonly startsFromSavepoint: number;
  readonly trace: readonly string[];
}

export const OUTPUT_DIRECTORY = '/output';
/** Lines of the trace that a failure shows. */
export const LINES_SHOWN = 50;
/** After the faults have ended the job has so much time to finish. */
const LIVENESS_MS = 30_000;
/** Longer than the time-out of a checkpoint that matters, and than the supervisor ever waits. */
const STILL_MS = 12_000;

export async function runSchedule(options: ScheduleOptions): Promise<ScheduleResult> {
  const { keepsTrace = false, tells = true } = options;
  if (keepsTrace) return new Schedule(options).run();
  const result = await withoutStacks(() => new Schedule(options).run());
  if (result.failure === null || !tells) return result;
  const { failure, trace } = await new Schedule({ ...options, keepsTrace: true }).run();
  return { ...result, failure: failure ?? result.failure, trace: trace.slice(-LINES_SHOWN) };
}

/** Stacks of what fails on purpose, and places in the job's code, are for those who read them. */
async function withoutStacks<T>(run: () => Promise<T>): Promise<T> {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return await run();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

class Schedule {
  readonly #world: World;
  readonly #plan: SchedulePlan;
  readonly #machine: Machine;
  readonly #outer: OuterSystem<SimulatedRecord>;
  readonly #outerMood: OuterMood;
  readonly #kafka: KafkaOutput;
  readonly #plain = new Map<string, SimulatedRecord[]>();
  readonly #fragility = { chance: 0 };
  readonly #supervisor: Supervisor;
  readonly #options: ScheduleOptions;
  #story: SavepointStory | null = null;

  constructor(options: ScheduleOptions) {
    const { seed, keepsTrace = false, scenario = RANDOM, change = (plan) => plan } = options;
    const { root } = options;
    const world = new World({ seed, keepsTrace, ...(root === undefined ? {} : { root }) });
    const plan = change(scenario.draw((label) => world.random(label)));
    this.#options = options;
    this.#world = world;
    this.#plan = plan;
    const { settings, job, moods, parallelisms } = plan;
    const { exactlyOnce, configuration } = settings;
    this.#machine = new Machine({
      world,
      moods,
      observer: (disk) =>
        new ProtocolObserver(world, disk, {
          mayBeDamaged: plan.faults.some(turnsBits),
          hasSavepoints: plan.savepoint !== null,
          numRetained: plan.settings.configuration.get('execution.checkpointing.num-retained'),
        }),
    });
    this.#outerMood = { latencyMs: plan.outerLatencyMs, failure: 0, lostAnswer: 0, isDown: false };
    this.#outer = new OuterSystem(world, this.#outerMood, ({ id }) => id);
    const broker = this.#machine.clockOf(new Life('broker', 0));
    this.#kafka = new KafkaOutput(world, this.#outerMood, broker);
    if (!exactlyOnce) this.#outer.allowDuplicates();
    this.#watchCheckpoints();
    this.#supervisor = new Supervisor({
      machine: this.#machine,
      job: buildJob(job, {
        random: world.random('user functions'),
        exactlyOnce,
        keepsEventTime: keepsEventTime(plan),
        version: () => this.#story?.version ?? 1,
        fragility: () => this.#fragility.chance,
        violated: (message) => world.violated(message),
        sinkOf: (spec) => this.#sinkOf(spec),
      }),
      configuration,
      parallelisms,
      random: world.random('supervisor'),
    });
    this.#story =
      plan.savepoint === null
        ? null
        : new SavepointStory(plan.savepoint, {
            machine: this.#machine,
            supervisor: this.#supervisor,
            outer: this.#outer,
          });
  }

  /** Looks at each checkpoint in the turn in which it completes. */
  #watchCheckpoints(): void {
    const { settings, job, faults, savepoint } = this.#plan;
    const { exactlyOnce, configuration, mode } = settings;
    const { disk, observer } = this.#machine;
    const cuts = new CutCheck({
      world: this.#world,
      job,
      disk,
      outer: this.#outer,
      outputDirectory: OUTPUT_DIRECTORY,
      isAligned: mode === 'EXACTLY_ONCE',
      keepsEventTime: keepsEventTime(this.#plan),
      exactlyOnce,
    });
    const leftBehind = new LeftBehind({
      world: this.#world,
      disk,
      faults,
      directory: `${DATA_DIRECTORY}/checkpoints`,
      retainedMax: configuration.get('execution.checkpointing.num-retained'),
    });
    observer.onCompleted = (checkpointId, directory) => {
      if (isUndisturbed(this.#plan)) void leftBehind.whileRunning(observer.runStartedAt);
      // What a drained job has flushed is no cut through its input any more.
      if (savepoint?.stop !== 'drain') void cuts.check(checkpointId, directory);
    };
  }

  async run(): Promise<ScheduleResult> {
    const world = this.#world;
    const { faults, sequences } = this.#plan;
    const targets = this.#targets();
    injectFaults(faults, targets);
    const stepsDone = watchMoments(world, sequences, targets);
    await writeInputs(this.#machine.disk, this.#plan.job);
    this.#story?.begin();
    this.#supervisor.start();
    const failure = await this.#runToEnd();
    const { completedCount, restoredCount } = this.#machine.observer;
    return {
      seed: world.seed,
      failure,
      digest: world.trace.digest,
      events: world.eventCount,
      virtualMs: world.now,
      kills: this.#supervisor.kills,
      completedCheckpoints: completedCount,
      restores: restoredCount,
      plan: this.#plan,
      stepsDone: stepsDone(),
      savepoints: this.#story?.taken ?? 0,
      startsFromSavepoint: this.#story?.starts ?? 0,
      trace: world.trace.lines(),
    };
  }

  #targets(): FaultTargets {
    return {
      machine: this.#machine,
      supervisor: this.#supervisor,
      outer: this.#outer,
      outerMood: this.#outerMood,
      fragility: this.#fragility,
      healAt: this.#plan.healAt,
    };
  }

  async #runToEnd(): Promise<string | null> {
    const world = this.#world;
    let atEvent = this.#plan.atEvent;
    const { beforeEvent } = this.#options;
    let asked = -1;
    const isOver = (): boolean => {
      // Once for each event: what was cancelled happens to nobody.
      const fault = world.eventCount === asked ? null : (beforeEvent?.() ?? null);
      asked = world.eventCount;
      if (fault !== null) injectNow(fault, { ...this.#targets(), healAt: Infinity });
      if (atEvent !== null && world.eventCount >= atEvent.event) {
        const targets = { ...this.#targets(), healAt: Infinity };
        for (const fault of atEvent.faults) injectNow(fault, targets);
        atEvent = null;
      }
      return this.#supervisor.isFinished || this.#isStill();
    };
    const how = await world.run(isOver, this.#plan.healAt + LIVENESS_MS);
    const violation = world.violation?.message ?? null;
    if (violation !== null) return violation;
    if (!this.#supervisor.isFinished) return this.#stuck(how === 'late' ? 'late' : 'stuck');
    await this.#story?.end();
    await this.#checkLeftFiles();
    checkOutput({
      world,
      job: this.#plan.job,
      exactlyOnce: this.#plan.settings.exactlyOnce,
      hadZombies: hasZombies(this.#plan),
      disk: this.#machine.disk,
      outer: this.#outer,
      plain: this.#plain,
      kafka: this.#kafka,
    });
    return world.violation?.message ?? null;
  }

  async #checkLeftFiles(): Promise<void> {
    const left = await leftFiles({
      disk: this.#machine.disk,
      dataDirectory: DATA_DIRECTORY,
      claimed: this.#story?.claimed ?? null,
      hasEarlierRuns: (this.#story?.starts ?? 0) > 0,
      clock: this.#machine.clockOf(new Life('checks', 0)),
      random: this.#world.random('checks'),
      lostPower: this.#supervisor.powerFailures > 0,
    });
    // A leader that stood still may have published something since, and it may not remove it. And
    // what could not be read as it was written is kept on purpose, as evidence of the damage.
    const keepsSome = hasZombies(this.#plan) || flipsBits(this.#plan);
    const wrong = keepsSome ? left.filter((path) => !isOfCheckpoint(path)) : left;
    this.#world.check(
      wrong.length === 0,
      () => `nothing refers to ${wrong.join(', ')}, although the job has finished`,
    );
  }

  /** Nobody has said a word for longer than any time-out takes: only timers go on. */
  #isStill(): boolean {
    const { now } = this.#world;
    return now > this.#plan.healAt && now > this.#machine.observer.lastMessageAt + STILL_MS;
  }

  #stuck(how: 'stuck' | 'late'): string {
    const reason = how === 'stuck' ? 'nothing is left to happen' : 'time is up';
    const last = this.#supervisor.lastEnd;
    const lastEnd = last === null ? '' : `; last end: ${last.status} ${last.message}`;
    const waiting = [
      ...this.#machine.observer.describePending(),
      ...this.#supervisor.describeWaiting(),
      ...this.#world.pending().map((line) => `to come: ${line}`),
    ];
    return (
      `the job has not finished: ${reason}; ${this.#supervisor.describe()}${lastEnd}; ` +
      `who waits for what:\n  ${waiting.join('\n  ')}`
    );
  }

  #sinkOf({ name, kind, size }: SinkSpec): Sink<SimulatedRecord> {
    switch (kind) {
      case 'transactions':
        return transactionSink({
          name,
          system: this.#outer,
          batch: size,
          beforeCommit: (checkpointId) =>
            this.#world.check(
              !this.#plan.settings.exactlyOnce || this.#machine.observer.mayCommit(checkpointId),
              () => `${name} commits for checkpoint ${checkpointId}, which is not durable`,
            ),
        });
      case 'kafka':
        return this.#kafka.sink(name);
      case 'files':
        return fileSink<SimulatedRecord>({
          path: `${OUTPUT_DIRECTORY}/${name}`,
          format: ndjson<SimulatedRecord>(),
          bucket: (value) => (size % 2 === 0 ? '' : `key-${value.key % 2}`),
          rolling: {
            maxSizeBytes: 200 * size,
            onCheckpoint: size % 3 === 0,
            maxAgeMs: 50 * size,
          },
        });
      case 'plain':
        return plainSink(name, this.#plain);
    }
  }
}

function isOfCheckpoint(path: string): boolean {
  return path.includes('/chk-');
}

/** Watermarks are restored: parallelism stays, and nothing was left out as idle. */
function keepsEventTime({ settings, parallelisms, savepoint, job }: SchedulePlan): boolean {
  return (
    settings.mode === 'EXACTLY_ONCE' &&
    new Set(parallelisms).size === 1 &&
    savepoint === null &&
    !job.streams.some(hasIdleness)
  );
}

/** Nothing happens but the faults of the plan, at their times. */
function isUndisturbed({ sequences, atEvent, savepoint }: SchedulePlan): boolean {
  return sequences.length === 0 && atEvent === null && savepoint === null;
}

function turnsBits({ type }: Fault): boolean {
  return type === 'bitFlips';
}

function hasIdleness(stream: JobSpec['streams'][number]): boolean {
  return stream.type === 'source' && stream.idlenessMs !== null;
}
