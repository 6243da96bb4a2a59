/**
 * Schedules that aim at a moment which has been hard on systems of this kind: each waits for the
 * event itself, over random jobs and settings, and now and then has another restart in it besides.
 */
import type { Random } from '@weir/core/internal/base/random';
import type { Fault, FaultType } from '../faults/fault-plan.ts';
import { checkpointsAfterFinish, drawSettings, withSettings } from './draw-settings.ts';
import type { DrawnSettings } from './draw-settings.ts';
import type { Sequence, Step } from './moments.ts';
import type { JobSpec } from '../jobs/job-spec.ts';
import { drawPlan, withoutFileSinks } from './plan.ts';
import type { Draw, SchedulePlan } from './plan.ts';
import type { Scenario } from './scenario.ts';

const KILL: Fault = { type: 'kill', at: 0 };
const POWER: Fault = { type: 'powerFailure', at: 0 };
const SUSPEND: Fault = { type: 'suspend', at: 0 };
const SECOND: Fault = { type: 'secondRun', at: 0 };
const killSlot = (slot: number): Fault => ({ type: 'killSlot', at: 0, slot });
const standsStill = (forMs: number): Fault => ({ type: 'pause', at: 0, forMs, looksDead: true });

const notHeard = (slot: number, forMs: number): Fault => ({
  type: 'partition',
  at: 0,
  forMs,
  slot,
  direction: 'from',
});
const late = (forMs: number): Fault => ({
  type: 'messages',
  at: 0,
  forMs,
  loss: 0,
  duplication: 0,
  lateness: 0.7,
});
const lost = (forMs: number): Fault => ({ ...late(forMs), loss: 0.5 }) as Fault;
const silent = (forMs: number): Fault => ({ type: 'lostAnswers', at: 0, forMs, chance: 1 });

function pick<T>(random: Random, values: readonly T[]): T {
  return values[random.int(values.length)] as T;
}

function step(moment: Step['moment'], when: Step['when'], ...faults: readonly Fault[]): Step {
  return { moment, nth: 1, when, faults };
}

/** The next leader has begun checkpoints when this one goes on to remove what it does not know. */
const cleanUpStandsStill = (random: Random): Step =>
  step('cleanUp', 'before', standsStill(200 + random.int(800)));

/** One of the ways in which a process ends. */
const death = (random: Random): Fault => pick(random, [KILL, KILL, POWER, SUSPEND]);

/** A death soon after a checkpoint, and at times another one in the next run. */
export function drawResume(random: Random): Sequence {
  return Array.from({ length: 1 + random.int(2) }, (): Step => {
    const fault = { ...pick(random, [death(random), killSlot(random.int(4))]), at: random.int(60) };
    return { ...step('notification', 'after', fault), nth: 1 + random.int(4) };
  });
}

/** Some of the threads, each cut off for a while that begins and ends at a time of its own. */
function swizzle(random: Random): readonly Fault[] {
  return Array.from({ length: 4 }, (_thread, slot): Fault => ({
    type: 'partition',
    at: 1 + random.int(80),
    forMs: 20 + random.int(400),
    slot,
    direction: random.int(2) === 0 ? 'to' : 'from',
  })).filter(() => random.int(3) > 0);
}

interface Pattern {
  readonly name: string;
  readonly about: string;
  sequence(random: Random): Sequence;
  change?(plan: SchedulePlan, random: Random): SchedulePlan;
}

const PATTERN_LIST: readonly Pattern[] = [
  {
    name: 'kill-during-restore',
    about: 'the process, a thread or the machine dies while tasks restore',
    sequence: (random) => [
      {
        ...step('notification', 'after', pick(random, [KILL, killSlot(0)])),
        nth: 1 + random.int(2),
      },
      {
        ...step(
          'restore',
          pick(random, ['before', 'after']),
          pick(random, [death(random), killSlot(1)]),
        ),
        nth: 1 + random.int(3),
      },
      step('restore', 'after', death(random)),
    ],
  },
  {
    name: 'kill-before-notification',
    about: 'a checkpoint is complete and durable, and everything dies before anyone is told',
    sequence: (random) => [
      { ...step('notification', 'before', death(random)), nth: 1 + random.int(2) },
    ],
  },
  {
    name: 'kill-before-pointer',
    about: 'a checkpoint exists, and the leader dies before its log names it',
    sequence: (random) => [step('published', pick(random, ['before', 'after']), death(random))],
  },
  {
    name: 'leader-between-persist-and-notify',
    about: 'the leader has recorded a checkpoint, and dies or is replaced before it tells of it',
    sequence: (random) => [
      {
        ...step(
          'pointer',
          pick(random, ['before', 'after']),
          pick(random, [KILL, POWER, standsStill(400)]),
        ),
        nth: 1 + random.int(2),
      },
    ],
  },
  {
    name: 'two-processes',
    about: 'a second process on the same data folder, at the worst moments',
    sequence: (random) =>
      pick(random, [
        [step('start', 'before', SECOND), step('claim', 'before', SECOND)],
        [step('claim', 'before', standsStill(200)), step('claim', 'after', standsStill(200))],
        [step('trigger', 'after', SECOND), step('published', 'before', standsStill(300))],
        [step('commit', 'before', standsStill(300)), step('restore', 'after', SECOND)],
        [step('claim', 'after', KILL), step('claim', 'after'), cleanUpStandsStill(random)],
      ]),
  },
  {
    name: 'disk-full-in-metadata',
    about: 'the disk is full from the moment in which _metadata is begun',
    sequence: (random) => [
      {
        ...step('metadata', 'before', { type: 'diskFull', at: 0, forMs: 5 + random.int(300) }),
        nth: 1 + random.int(2),
      },
      ...(random.int(2) === 0 ? [step('restart', 'before', KILL)] : []),
    ],
  },
  {
    name: 'swizzle-clog',
    about:
      'threads are cut off one after the other in a checkpoint, and come back in another order',
    sequence: (random) => [
      step('trigger', 'after', ...swizzle(random)),
      ...(random.int(2) === 0 ? [step('restore', 'after', ...swizzle(random))] : []),
    ],
    change: (plan, random) => ({
      ...plan,
      parallelisms: [2 + random.int(3)],
      settings: withSettings(plan.settings, { 'execution.checkpointing.timeout': 2000 }),
    }),
  },
  {
    name: 'slow-disk-on-one',
    about: 'the disk of one thread, or of all, is slow from the first barrier on',
    sequence: (random) => [
      step('trigger', 'before', {
        type: 'slowDisk',
        at: 0,
        forMs: 50 + random.int(500),
        factor: 50 + random.int(400),
        ...(random.int(3) > 0 ? { slot: random.int(2) } : {}),
      }),
      ...(random.int(2) === 0 ? [step('acknowledgement', 'after', death(random))] : []),
    ],
  },
  {
    name: 'rescale-in-checkpoint',
    about: 'the process dies in a checkpoint and comes back with another parallelism',
    sequence: (random) => [
      {
        ...step(pick(random, ['trigger', 'acknowledgement', 'metadata']), 'after', death(random)),
        nth: 1 + random.int(3),
      },
      step('acknowledgement', 'after', death(random)),
    ],
    change: (plan, random) => {
      const first = 1 + random.int(4);
      return { ...plan, parallelisms: [first, 1 + (first % 4), 1 + random.int(4), first] };
    },
  },
  {
    name: 'thread-dies-in-restart',
    about: 'a thread dies, and another one while the tasks are being restarted',
    sequence: (random) => [
      { ...step('acknowledgement', 'after', killSlot(random.int(4))), nth: 1 + random.int(4) },
      step('restart', 'before', killSlot(random.int(4))),
      step('restore', 'after', killSlot(random.int(4))),
    ],
    // Kills of threads must not end the run before the pattern is over.
    change: (plan) => ({ ...plan, settings: restartsAlways(plan.settings) }),
  },
  {
    name: 'enumerator-fails-in-restart',
    about: 'a thread dies, and an enumerator fails when it gets back the splits of its readers',
    sequence: (random) => [
      { ...step('acknowledgement', 'after', killSlot(random.int(4))), nth: 1 + random.int(6) },
    ],
    change: (plan) => ({
      ...plan,
      job: withFailingEnumerators(plan.job),
      settings: restartsAlways(plan.settings),
    }),
  },
  {
    name: 'outer-down-in-commit',
    about: 'the outer system is away while a checkpoint is committed, and something dies meanwhile',
    sequence: (random) => [
      step('notification', 'before', { type: 'outerDown', at: 0, forMs: 20 + random.int(1500) }),
      ...pick(random, [
        [],
        [step('commit', 'after', death(random))],
        [step('restart', 'before', KILL)],
      ]),
    ],
    change: (plan) => ({ ...plan, job: withoutFileSinks(plan.job) }),
  },
  {
    name: 'commits-fail',
    about: 'commits fail, and go on failing when they are tried again, while all else goes well',
    sequence: (random) => [
      {
        ...step('notification', 'before', {
          type: 'commitErrors',
          at: 0,
          forMs: 20 + random.int(1500),
          chance: 1,
        }),
        nth: 1 + random.int(12),
      },
    ],
    change: (plan, random) => ({
      ...plan,
      job: withoutFileSinks(plan.job),
      settings: withSettings(plan.settings, { 'sink.committer.retries': pick(random, [0, 1]) }),
    }),
  },
  {
    name: 'acknowledgements-of-the-dead',
    about: 'acknowledgements are held up while a thread dies and is replaced',
    sequence: (random) => {
      const slot = random.int(4);
      const other = (slot + 1 + random.int(3)) % 4;
      const fault = pick(random, [notHeard(slot, 100 + random.int(600)), late(300)]);
      return [
        { ...step('trigger', 'before', fault), nth: 1 + random.int(20) },
        { ...step('acknowledgement', 'after', killSlot(other)), nth: 1 + random.int(6) },
      ];
    },
    change: (plan) => ({ ...plan, settings: restartsAlways(plan.settings) }),
  },
  {
    name: 'acknowledgements-too-late',
    about: 'acknowledgements come when their checkpoint has expired, or never',
    sequence: (random) => [
      {
        ...step(
          'trigger',
          'before',
          pick(random, [notHeard(random.int(4), 900 + random.int(600)), lost(20 + random.int(80))]),
        ),
        nth: 1 + random.int(20),
      },
      ...(random.int(2) === 0 ? [step('notification', 'after', death(random))] : []),
    ],
    change: (plan) => ({
      ...plan,
      settings: withSettings(plan.settings, { 'execution.checkpointing.timeout': 1000 }),
    }),
  },
  {
    name: 'disk-silent-in-completion',
    about: 'the disk answers no more from the moment in which a checkpoint exists, or is told of',
    sequence: (random) => [
      {
        ...step(
          pick(random, ['published', 'notification']),
          pick(random, ['before', 'after']),
          silent(400 + random.int(1500)),
        ),
        nth: 1 + random.int(3),
      },
      ...(random.int(2) === 0 ? [step('restart', 'before', death(random))] : []),
    ],
  },
];

/** One of them, for schedules that have other faults as well. */
export function drawSequence(random: Random): Sequence {
  return pick(random, PATTERN_LIST).sequence(random);
}

/** Besides what the pattern does, now and then. */
const BESIDES: readonly FaultType[] = ['kill', 'killSlot', 'fragile', 'clog', 'lostAnswers'];

export const PATTERNS: readonly Scenario[] = PATTERN_LIST.map((pattern) => ({
  name: pattern.name,
  about: pattern.about,
  draw: (draw) => drawPattern(pattern, draw),
}));

function drawPattern(pattern: Pattern, draw: Draw): SchedulePlan {
  const random = draw('pattern');
  const settings = checkpointsOften(drawSettings(draw('settings')), random);
  const allowed = random.int(3) === 0 ? BESIDES : [];
  const drawn = drawPlan(draw, { settings, allowed });
  const plan = { ...drawn, sequences: [pattern.sequence(random)] };
  return pattern.change?.(plan, random) ?? plan;
}

/** So that the job has checkpoints in its middle, and one at its end. */
function checkpointsOften(settings: DrawnSettings, random: Random): DrawnSettings {
  return withSettings(checkpointsAfterFinish(settings), {
    'execution.checkpointing.interval': pick(random, [10, 20, 40]),
    'execution.checkpointing.min-pause': 0,
  });
}

function withFailingEnumerators(job: JobSpec): JobSpec {
  const fails = { reader: 'simulated', assignment: 'asked', failsOnReturn: true } as const;
  return {
    ...job,
    streams: job.streams.map((it) => (it.type === 'source' ? { ...it, ...fails } : it)),
  };
}

function restartsAlways(settings: DrawnSettings): DrawnSettings {
  return withSettings(settings, {
    'restart-strategy.type': 'fixed-delay',
    'restart-strategy.fixed-delay.attempts': 100,
    'restart-strategy.fixed-delay.delay': 20,
  });
}
