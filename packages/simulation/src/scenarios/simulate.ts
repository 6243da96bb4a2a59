/**
 * One schedule: draws a job, its settings and its faults from a seed, runs it to the end, and
 * checks.
 */
import type { Sink } from '@weir/core/internal/api/sink';
import { fileSink } from '@weir/core/internal/connectors/file-sink';
import { ndjson } from '@weir/core/internal/connectors/formats/ndjson';
import { checkOutput } from '../checks/check-output.ts';
import { ProtocolObserver } from '../checks/protocol-observer.ts';
import { Machine } from '../engine/machine.ts';
import type { Moods } from '../engine/machine.ts';
import { Supervisor } from '../engine/supervisor.ts';
import { drawFaults, FAULT_TYPES } from '../faults/fault-plan.ts';
import type { Fault, FaultType } from '../faults/fault-plan.ts';
import { injectFaults } from '../faults/inject.ts';
import { buildJob } from '../jobs/build-job.ts';
import { drawJob, durationMs } from '../jobs/draw-job.ts';
import type { JobSpec, SinkSpec } from '../jobs/job-spec.ts';
import { OuterSystem } from '../jobs/outer-system.ts';
import type { OuterMood } from '../jobs/outer-system.ts';
import { plainSink } from '../jobs/plain-sink.ts';
import type { SimulatedRecord } from '../jobs/simulated-record.ts';
import { transactionSink } from '../jobs/transaction-sink.ts';
import { World } from '../world/world.ts';
import { drawSettings } from './draw-settings.ts';
import type { DrawnSettings } from './draw-settings.ts';

export interface ScheduleOptions {
  readonly seed: number;
  readonly keepsTrace?: boolean;
  /** Answer with the trace also when nothing failed. */
  readonly wantsTrace?: boolean;
  /** Kinds of faults that may be drawn. */
  readonly allowed?: readonly FaultType[];
  /** Instead of the drawn ones. */
  readonly faults?: readonly Fault[];
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
  readonly faults: readonly Fault[];
  readonly job: JobSpec;
  readonly trace: readonly string[];
}

export const OUTPUT_DIRECTORY = '/output';
/** Lines of the trace that a failure shows. */
const LINES_SHOWN = 50;
/** After the faults have ended the job has so much time to finish. */
const LIVENESS_MS = 120_000;

export async function runSchedule(options: ScheduleOptions): Promise<ScheduleResult> {
  return new Schedule(options).run();
}

class Schedule {
  readonly #world: World;
  readonly #settings: DrawnSettings;
  readonly #job: JobSpec;
  readonly #healAt: number;
  readonly #faults: readonly Fault[];
  readonly #machine: Machine;
  readonly #outer: OuterSystem;
  readonly #outerMood: OuterMood;
  readonly #plain = new Map<string, SimulatedRecord[]>();
  readonly #fragility = { chance: 0 };
  readonly #supervisor: Supervisor;
  readonly #keepsTrace: boolean;
  readonly #wantsTrace: boolean;

  constructor(options: ScheduleOptions) {
    const { seed, keepsTrace = false, allowed = FAULT_TYPES, faults } = options;
    const world = new World({ seed, keepsTrace });
    this.#world = world;
    this.#keepsTrace = keepsTrace;
    this.#wantsTrace = options.wantsTrace ?? false;
    this.#settings = drawSettings(world.random('settings'));
    const { exactlyOnce, configuration } = this.#settings;
    const jobRandom = world.random('job');
    const drawn = drawJob(jobRandom, { exactlyOnce, operatorsMax: 2 + jobRandom.int(6) });
    const swarm = world.random('swarm');
    // Most faults should fall while the job runs.
    this.#healAt = 50 + Math.floor(durationMs(drawn) * (0.3 + 1.2 * swarm.next()));
    this.#faults = faults ?? drawFaults(world.random('faults'), { healAt: this.#healAt, allowed });
    const refusesFiles = this.#settings.commitsAtEnd || this.#faults.some(isZombie);
    this.#job = refusesFiles ? withoutFileSinks(drawn) : drawn;
    this.#machine = new Machine({
      world,
      moods: drawMoods(swarm),
      observer: (disk) => new ProtocolObserver(world, disk),
    });
    this.#outerMood = {
      latencyMs: [0.1, 1, 10][swarm.int(3)] as number,
      failure: 0,
      lostAnswer: 0,
      isDown: false,
    };
    this.#outer = new OuterSystem(world, this.#outerMood);
    if (!exactlyOnce) this.#outer.allowDuplicates();
    const parallelisms = drawParallelisms(swarm);
    this.#supervisor = new Supervisor({
      machine: this.#machine,
      job: buildJob(this.#job, {
        random: world.random('user functions'),
        exactlyOnce,
        keepsEventTime: new Set(parallelisms).size === 1 && !this.#job.streams.some(hasIdleness),
        fragility: () => this.#fragility.chance,
        violated: (message) => world.violated(message),
        sinkOf: (spec) => this.#sinkOf(spec),
      }),
      configuration,
      parallelisms,
      random: world.random('supervisor'),
    });
  }

  async run(): Promise<ScheduleResult> {
    const world = this.#world;
    injectFaults(this.#faults, {
      machine: this.#machine,
      supervisor: this.#supervisor,
      outer: this.#outer,
      outerMood: this.#outerMood,
      fragility: this.#fragility,
      healAt: this.#healAt,
    });
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
      faults: this.#faults,
      job: this.#job,
      trace:
        failure === null && !this.#wantsTrace
          ? []
          : world.trace.last(this.#keepsTrace ? Infinity : LINES_SHOWN),
    };
  }

  async #runToEnd(): Promise<string | null> {
    const world = this.#world;
    const killAt = this.#faults.flatMap((it) => (it.type === 'killAtEvent' ? [it.event] : []));
    const isOver = (): boolean => {
      if (killAt[0] !== undefined && world.eventCount >= killAt[0]) {
        killAt.shift();
        this.#supervisor.kill();
      }
      return this.#supervisor.isFinished && world.now >= 0;
    };
    const how = await world.run(isOver, this.#healAt + LIVENESS_MS);
    const violation = world.violation?.message ?? null;
    if (violation !== null) return violation;
    if (how !== 'over') return this.#stuck(how);
    await checkOutput({
      world,
      job: this.#job,
      exactlyOnce: this.#settings.exactlyOnce,
      hadZombies: this.#faults.some(isZombie),
      disk: this.#machine.disk,
      outer: this.#outer,
      plain: this.#plain,
    });
    return world.violation?.message ?? null;
  }

  #stuck(how: 'stuck' | 'late'): string {
    const reason = how === 'stuck' ? 'nothing is left to happen' : 'time is up';
    const last = this.#supervisor.lastEnd;
    const lastEnd = last === null ? '' : `; last end: ${last.status} ${last.message}`;
    return (
      `the job has not finished: ${reason}; ${this.#supervisor.describe()}${lastEnd}; ` +
      'waiting:\n  ' +
      this.#world.pending().join('\n  ')
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
              !this.#settings.exactlyOnce || this.#machine.observer.mayCommit(checkpointId),
              () => `${name} commits for checkpoint ${checkpointId}, which is not durable`,
            ),
        });
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

function hasIdleness(stream: JobSpec['streams'][number]): boolean {
  return stream.type === 'source' && stream.idlenessMs !== null;
}

function isZombie(fault: Fault): boolean {
  return fault.type === 'pause' && fault.looksDead;
}

/**
 * Where checkpoints stop when the first task has finished, sinks publish at their end, and a
 * failure after that finds a file sink ahead of every checkpoint; which it refuses, as it says. And
 * a leader that stands still and comes back may append to a file that its successor has finished:
 * nothing on a disk can fence it.
 */
function withoutFileSinks(job: JobSpec): JobSpec {
  const sinks = job.sinks.map((sink) =>
    sink.kind === 'files' ? ({ ...sink, kind: 'transactions' } as const) : sink,
  );
  return { ...job, sinks };
}

function drawMoods(random: ReturnType<World['random']>): Moods {
  const pick = (values: readonly number[]): number => values[random.int(values.length)] as number;
  return {
    disk: {
      latencyMs: pick([0.05, 0.5, 5]),
      slowness: 1,
      failure: 0,
      lostAnswer: 0,
      bitFlip: 0,
      isFull: false,
    },
    link: { latencyMs: pick([0.02, 0.2, 3]), cloggedUntil: 0 },
    pace: { stepMs: pick([0.02, 0.2, 1]), jitterMs: pick([0, 1, 5]) },
    linkCapacity: pick([1, 4, 64]),
    encodesFrames: random.int(3) === 0,
  };
}

function drawParallelisms(random: ReturnType<World['random']>): readonly number[] {
  const first = 1 + random.int(4);
  if (random.int(2) === 0) return [first];
  return [first, 1 + random.int(4), 1 + random.int(4), 1 + random.int(4)];
}
