/**
 * Savepoints: taken while things fail, as the way to stop a job and go on from there, and when
 * something dies in the middle of it.
 */
import type { Random } from '@weir/core/internal/base/random';
import type { Fault, FaultType } from '../faults/fault-plan.ts';
import { durationMs } from '../jobs/draw-job.ts';
import type { JobSpec, OperatorSpec, SourceSpec } from '../jobs/job-spec.ts';
import { checkpointsAfterFinish, drawSettings, withSettings } from './draw-settings.ts';
import type { Sequence } from './moments.ts';
import { drawPlan } from './plan.ts';
import type { Draw, SchedulePlan } from './plan.ts';
import type { SavepointPlan } from './savepoint-story.ts';
import type { Scenario } from './scenario.ts';

const VERSIONED: ReadonlySet<OperatorSpec['kind']> = new Set(['map', 'filter', 'aggregate']);
const NOTHING: readonly FaultType[] = [];
/** No bits turned around, and no leader that comes back: neither leaves a promise to be checked. */
const FAILURES: readonly FaultType[] = [
  'kill',
  'powerFailure',
  'killSlot',
  'suspend',
  'secondRun',
  'clog',
  'slowDisk',
  'diskErrors',
  'lostAnswers',
  'diskFull',
  'outerDown',
  'outerErrors',
  'wallClock',
  'fragile',
];

interface SavepointScenario {
  readonly name: string;
  readonly about: string;
  readonly stops: readonly SavepointPlan['stop'][];
  readonly allowed: readonly FaultType[];
  sequences?(random: Random): readonly Sequence[];
}

function pick<T>(random: Random, values: readonly T[]): T {
  return values[random.int(values.length)] as T;
}

const death = (random: Random): Fault =>
  pick(random, [
    { type: 'kill', at: 0 },
    { type: 'powerFailure', at: 0 },
    { type: 'suspend', at: 0 },
    { type: 'killSlot', at: 0, slot: random.int(4) },
  ]);

const LIST: readonly SavepointScenario[] = [
  {
    name: 'savepoint-during-failures',
    about: 'a savepoint is taken while the job runs and things fail',
    stops: [null],
    allowed: FAILURES,
  },
  {
    name: 'stop-suspend',
    about: 'the job is stopped with a savepoint and goes on from it, undisturbed',
    stops: ['suspend'],
    allowed: NOTHING,
  },
  {
    name: 'stop-drain',
    about: 'the job is drained into a savepoint and goes on from it, undisturbed',
    stops: ['drain'],
    allowed: NOTHING,
  },
  {
    name: 'stop-during-failures',
    about: 'the job is stopped with a savepoint while things fail, and goes on from it',
    stops: ['suspend', 'drain'],
    allowed: FAILURES,
  },
  {
    name: 'kill-in-savepoint',
    about: 'something dies between the request of a savepoint and its completion',
    stops: [null, 'suspend', 'drain'],
    allowed: NOTHING,
    sequences: (random) => [
      [
        { moment: 'savepoint', nth: 1, when: 'after', faults: [] },
        {
          moment: pick(random, ['trigger', 'acknowledgement', 'metadata']),
          nth: 1 + random.int(3),
          when: pick(random, ['before', 'after']),
          faults: [death(random)],
        },
      ],
    ],
  },
  {
    name: 'stop-whose-end-fails',
    about: 'the savepoint that stops the job is complete, and a later step of the stop fails',
    stops: ['suspend', 'drain'],
    allowed: NOTHING,
    sequences: (random) => [
      [
        {
          moment: 'savepointPublished',
          nth: 1,
          when: pick(random, ['before', 'after']),
          faults: [],
        },
        {
          moment: pick(random, ['notification', 'commit', 'claim']),
          nth: 1 + random.int(3),
          when: pick(random, ['before', 'after']),
          faults: [pick(random, [death(random), { type: 'outerDown', at: 0, forMs: 400 }])],
        },
      ],
    ],
  },
  {
    name: 'kill-in-start-from-savepoint',
    about: 'something dies while the job starts again from its savepoint',
    stops: ['suspend', 'drain'],
    allowed: NOTHING,
    sequences: (random) => [
      [
        { moment: 'startFromSavepoint', nth: 1, when: 'after', faults: [] },
        {
          moment: pick(random, ['restore', 'trigger', 'metadata', 'published', 'notification']),
          nth: 1 + random.int(2),
          when: pick(random, ['before', 'after']),
          faults: [death(random)],
        },
      ],
    ],
  },
];

export const SAVEPOINT_SCENARIOS: readonly Scenario[] = LIST.map((scenario) => ({
  name: scenario.name,
  about: scenario.about,
  draw: (draw) => drawSavepoint(scenario, draw),
}));

function drawSavepoint(scenario: SavepointScenario, draw: Draw): SchedulePlan {
  const random = draw('savepoint');
  const claimMode = pick(random, ['NO_CLAIM', 'NO_CLAIM', 'CLAIM'] as const);
  const settings = withSettings(checkpointsAfterFinish(drawSettings(draw('settings'))), {
    'execution.state-recovery.claim-mode': claimMode,
    'execution.checkpointing.interval': pick(random, [10, 30, 100, 1000]),
  });
  const plan = drawPlan(draw, { settings, allowed: scenario.allowed });
  const stop = pick(random, scenario.stops);
  const versioned = withVersions(plan.job, random);
  const job = stop === 'drain' ? withoutWindows(versioned) : versioned;
  return {
    ...plan,
    job,
    // The run after the savepoint may be of another version of the job.
    moods: { ...plan.moods, shortcuts: { sharesPlans: false, plainChains: true } },
    sequences: scenario.sequences?.(random) ?? [],
    savepoint: {
      stop,
      at: 5 + Math.floor(durationMs(job) * 0.9 * random.next()),
      claimMode,
      isMoved: random.int(3) === 0,
      isRemovedEarly: random.int(2) === 0,
      parallelism: random.int(2) === 0 ? (plan.parallelisms[0] ?? 1) : 1 + random.int(4),
    },
  };
}

/** Some operators get state with a version, which the run after the savepoint declares anew. */
function withVersions(job: JobSpec, random: Random): JobSpec {
  const streams = job.streams.map((stream): SourceSpec | OperatorSpec => {
    if (stream.type !== 'operator') return stream;
    const isReplaced =
      VERSIONED.has(stream.kind) || (stream.kind === 'count' && random.int(2) === 0);
    return isReplaced ? { ...stream, kind: 'versioned' } : stream;
  });
  return { ...job, streams };
}

/** A window that is drained fires with what it has, and again with the rest. */
function withoutWindows(job: JobSpec): JobSpec {
  const streams = job.streams.map((stream): SourceSpec | OperatorSpec =>
    stream.type === 'operator' && stream.kind === 'window' ? { ...stream, kind: 'count' } : stream,
  );
  return { ...job, streams };
}
