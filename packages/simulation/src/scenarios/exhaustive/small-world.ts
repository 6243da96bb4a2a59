/**
 * The smallest job with everything in it: one source of three records, one operator with keyed
 * state, one two-phase sink, one checkpoint on the way and the one at the end.
 */
import { Configuration } from '@weir/core/internal/base/configuration';
import type { JobSpec } from '../../jobs/job-spec.ts';
import { withSettings } from '../draw-settings.ts';
import type { SchedulePlan } from '../plan.ts';
import type { SavepointPlan } from '../savepoint-story.ts';

const JOB: JobSpec = {
  name: 'small',
  chaining: true,
  streams: [
    {
      type: 'source',
      name: 's',
      splits: [{ id: 's.0', count: 3, firstTs: 1000, stepTs: 1 }],
      keys: 2,
      burst: 1,
      pauseMs: 6,
      parallelism: null,
      idlenessMs: null,
      assignment: 'first',
      reader: 'simulated',
    },
    {
      type: 'operator',
      kind: 'count',
      name: 'o',
      inputs: [0],
      parallelism: null,
      partition: 'none',
      startsChain: false,
      size: 1,
    },
  ],
  sinks: [{ name: 'k', input: 1, kind: 'transactions', parallelism: null, size: 2 }],
};

/** Small, and never 0, so that losing an answer is a choice. */
const SELDOM = 0.001;

export const SMALL_WORLD: SchedulePlan = {
  settings: {
    configuration: Configuration.of(
      {
        'execution.checkpointing.interval': 10,
        'execution.checkpointing.timeout': 1000,
        'execution.checkpointing.tolerable-failed-checkpoints': 100,
        'execution.checkpointing.checkpoints-after-tasks-finish': true,
        'execution.buffer-timeout.interval': 0,
        'pipeline.auto-watermark-interval': 1000,
        'pipeline.max-parallelism': 8,
        'restart-strategy.type': 'fixed-delay',
        'restart-strategy.fixed-delay.attempts': 100,
        'restart-strategy.fixed-delay.delay': 1,
      },
      'small world',
    ),
    mode: 'EXACTLY_ONCE',
    exactlyOnce: true,
    commitsAtEnd: false,
  },
  job: JOB,
  moods: {
    disk: {
      latencyMs: 0.1,
      slowness: 1,
      failure: 0,
      lostAnswer: SELDOM,
      bitFlip: 0,
      isFull: false,
    },
    link: { latencyMs: 0.2, cloggedUntil: 0 },
    pace: { stepMs: 0.1, jitterMs: 0 },
    linkCapacity: 4,
    encodesFrames: false,
    shortcuts: { sharesPlans: true, plainChains: true },
  },
  outerLatencyMs: 0.1,
  parallelisms: [1],
  healAt: 0,
  faults: [],
  sequences: [],
  atEvent: null,
  savepoint: null,
};

/** The same job, stopped with a savepoint after its first record; it goes on from there. */
export function stoppedWorld(
  stop: NonNullable<SavepointPlan['stop']>,
  claimMode: SavepointPlan['claimMode'],
): SchedulePlan {
  const claim = { 'execution.state-recovery.claim-mode': claimMode };
  const savepoint = {
    stop,
    at: 9,
    claimMode,
    isMoved: false,
    isRemovedEarly: true,
    parallelism: 1,
  };
  return { ...SMALL_WORLD, settings: withSettings(SMALL_WORLD.settings, claim), savepoint };
}

/** For the command line. */
export const SMALL_WORLDS: Readonly<Record<string, SchedulePlan>> = {
  small: SMALL_WORLD,
  'suspend-claim': stoppedWorld('suspend', 'CLAIM'),
  'suspend-no-claim': stoppedWorld('suspend', 'NO_CLAIM'),
  'drain-claim': stoppedWorld('drain', 'CLAIM'),
  'drain-no-claim': stoppedWorld('drain', 'NO_CLAIM'),
};
