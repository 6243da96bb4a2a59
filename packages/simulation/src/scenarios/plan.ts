/**
 * All that is drawn of a schedule before it runs, as data: a shrinker leaves parts of it out, and a
 * scenario changes what it is about. Each part is drawn from a stream of its own, so that one more
 * draw in one of them leaves the others as they are.
 */
import type { Random } from '@weir/core/internal/base/random';
import type { Moods, Shortcuts } from '../engine/machine.ts';
import { drawFaults, FAULT_TYPES } from '../faults/fault-plan.ts';
import type { Fault, FaultType } from '../faults/fault-plan.ts';
import { drawJob, durationMs } from '../jobs/draw-job.ts';
import type { JobSpec } from '../jobs/job-spec.ts';
import { drawSettings, withSettings } from './draw-settings.ts';
import type { DrawnSettings } from './draw-settings.ts';
import type { EventStep, Sequence } from './moments.ts';
import type { SavepointPlan } from './savepoint-story.ts';

export interface SchedulePlan {
  readonly settings: DrawnSettings;
  readonly job: JobSpec;
  readonly moods: Moods;
  readonly outerLatencyMs: number;
  /** Of the runs one after the other; the last one is that of all later ones. */
  readonly parallelisms: readonly number[];
  /** Faults end here; from then on the job has a limited time to finish. */
  readonly healAt: number;
  readonly faults: readonly Fault[];
  readonly sequences: readonly Sequence[];
  /** At an event of the schedule by its number. */
  readonly atEvent: EventStep | null;
  /** What the user does with savepoints. */
  readonly savepoint: SavepointPlan | null;
}

/** An independent stream of random numbers for each label. */
export type Draw = (label: string) => Random;

export interface PlanLimits {
  /** Kinds of faults that may be drawn. */
  readonly allowed?: readonly FaultType[];
  readonly settings?: DrawnSettings;
}

/** A random job under random faults. */
export function drawPlan(draw: Draw, limits: PlanLimits = {}): SchedulePlan {
  const { allowed = FAULT_TYPES, settings: given = drawSettings(draw('settings')) } = limits;
  const { exactlyOnce } = given;
  const jobRandom = draw('job');
  const operatorsMax = 2 + jobRandom.int(3);
  const drawn = drawJob(jobRandom, { exactlyOnce, operatorsMax });
  const swarm = draw('swarm');
  // Most faults should fall while the job runs.
  const healAt = 50 + Math.floor(durationMs(drawn) * (0.3 + 1.2 * swarm.next()));
  const faults = drawFaults(draw('faults'), { healAt, allowed });
  const paced = withFewCheckpoints(given, durationMs(drawn));
  const settings = faults.some(losesMessages) ? withSettings(paced, SHORT_TIMEOUT) : paced;
  return {
    settings,
    job: drawn,
    healAt,
    faults,
    sequences: [],
    atEvent: null,
    savepoint: null,
    moods: { ...drawMoods(swarm), shortcuts: drawShortcuts(draw('shortcuts'), drawn) },
    outerLatencyMs: [0.1, 1, 10][swarm.int(3)] as number,
    parallelisms: drawParallelisms(swarm),
  };
}

/** Of an undisturbed run. More cost a lot, and what one more can show is seen sooner elsewhere. */
const CHECKPOINTS_MAX = 8;
/** Where several may be under way, they have to follow each other quickly to meet at all. */
const CONCURRENT_MAX = 20;

function withFewCheckpoints(settings: DrawnSettings, runMs: number): DrawnSettings {
  const name = 'execution.checkpointing.interval';
  const { configuration } = settings;
  const intervalMs = configuration.get(name) ?? 0;
  const meet =
    configuration.get('execution.checkpointing.max-concurrent-checkpoints') > 1 &&
    configuration.get('execution.checkpointing.min-pause') === 0;
  const shortest = Math.ceil(runMs / (meet ? CONCURRENT_MAX : CHECKPOINTS_MAX));
  return intervalMs >= shortest ? settings : withSettings(settings, { [name]: shortest });
}

/** A checkpoint of which a message is lost ends by its time-out, and the next waits for it. */
const SHORT_TIMEOUT = { 'execution.checkpointing.timeout': 5000 };

function losesMessages(fault: Fault): boolean {
  return fault.type === 'messages' && fault.loss > 0;
}

function isZombie(fault: Fault): boolean {
  return fault.type === 'pause' && fault.looksDead;
}

/** Whether a process may stand still in it, be replaced, and go on. */
export function hasZombies(plan: SchedulePlan): boolean {
  return allFaults(plan).some(isZombie);
}

export function flipsBits(plan: SchedulePlan): boolean {
  return allFaults(plan).some(({ type }) => type === 'bitFlips');
}

function allFaults({ faults, sequences, atEvent }: SchedulePlan): readonly Fault[] {
  const atMoments = sequences.flat().flatMap((step) => step.faults);
  return [...faults, ...atMoments, ...(atEvent?.faults ?? [])];
}

/** For what only the outer system can show. */
export function withoutFileSinks(job: JobSpec): JobSpec {
  const sinks = job.sinks.map((sink) =>
    sink.kind === 'files' ? ({ ...sink, kind: 'transactions' } as const) : sink,
  );
  return { ...job, sinks };
}

function drawMoods(random: Random): Moods {
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
    encodesFrames: random.int(4) === 0,
  };
}

function drawShortcuts(random: Random, { streams }: JobSpec): Shortcuts {
  // The function of `all` keeps the number of its subtask.
  const keepsSomething = streams.some((it) => it.type === 'operator' && it.kind === 'all');
  return {
    sharesPlans: random.int(10) > 0 && !keepsSomething,
    plainChains: random.int(10) > 0,
    sharesMessages: random.int(4) > 0,
  };
}

function drawParallelisms(random: Random): readonly number[] {
  const first = [1, 1, 2, 2, 3, 3, 4][random.int(7)] as number;
  if (random.int(2) === 0) return [first];
  return [first, 1 + random.int(4), 1 + random.int(4), 1 + random.int(4)];
}
