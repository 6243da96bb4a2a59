/**
 * All that is drawn of a run before it begins, as data: a shrinker leaves parts of it out and runs
 * the rest again. A calm plan has no faults and quick, even surroundings: it shows what the job
 * gives when nothing happens.
 */
import type { ConfigSettings } from '@weir/core';
import type { Random } from '@weir/core/internal/base/random';
import type { Moods } from '@weir/simulation/engine/machine';
import { drawFaults } from '@weir/simulation/faults/fault-plan';
import type { Fault, FaultType } from '@weir/simulation/faults/fault-plan';
import type { Pace } from './memory-source.ts';

export interface RunPlan {
  /** Of the world: which of several things comes first. */
  readonly seed: number;
  /** How far the wall clock is ahead: what depends on it shows. */
  readonly wallOffsetMs: number;
  readonly settings: ConfigSettings;
  readonly moods: Moods;
  readonly outerLatencyMs: number;
  readonly pace: Pace;
  /** Of the processes one after the other; the last one is that of all later ones. */
  readonly parallelisms: readonly number[];
  readonly faults: readonly Fault[];
  /** Faults end here. */
  readonly healAt: number;
}

export interface PlanLimits {
  /** Records of all sources. */
  readonly recordCount: number;
  readonly parallelisms: readonly number[];
  readonly faults: readonly FaultType[];
}

const DAY_MS = 86_400_000;

export function calmPlan(recordCount: number, parallelism: number, wallOffsetMs = 0): RunPlan {
  return {
    seed: 0,
    wallOffsetMs,
    settings: {
      ...FIXED_SETTINGS,
      'execution.checkpointing.interval': 100,
      'execution.buffer-timeout.interval': 1,
    },
    moods: {
      disk: { latencyMs: 0.05, slowness: 1, failure: 0, lostAnswer: 0, bitFlip: 0, isFull: false },
      link: { latencyMs: 0.02, cloggedUntil: 0 },
      pace: { stepMs: 0.02, jitterMs: 0 },
      linkCapacity: 64,
      encodesFrames: true,
      shortcuts: { sharesPlans: false, plainChains: true },
    },
    outerLatencyMs: 0.1,
    pace: paceFor(recordCount, 300),
    parallelisms: [parallelism],
    faults: [],
    healAt: 0,
  };
}

/** Also of a run without faults: what a run may do by itself is allowed there too. */
export function drawPlan(
  seed: number,
  draw: (label: string) => Random,
  limits: PlanLimits,
): RunPlan {
  const { recordCount, parallelisms, faults } = limits;
  const swarm = draw('swarm');
  const durationMs = pick(swarm, [300, 600, 900]);
  const settings = drawSettings(draw('settings'));
  // Most faults should fall while the job runs, and when there is a checkpoint to go back to.
  const firstMs = Number(settings['execution.checkpointing.interval']);
  const healAt = firstMs + Math.floor(durationMs * (0.3 + 1.2 * swarm.next()));
  const drawn = drawFaults(draw('faults'), { healAt, allowed: faults });
  return {
    seed,
    wallOffsetMs: seed * DAY_MS + swarm.int(DAY_MS),
    settings,
    moods: drawMoods(swarm),
    outerLatencyMs: pick(swarm, [0.1, 1, 10]),
    pace: paceFor(recordCount, durationMs),
    parallelisms: drawParallelisms(swarm, parallelisms),
    faults: drawn.map((fault) => ({ ...fault, at: fault.at + firstMs })),
    healAt: healAt + firstMs,
  };
}

/** Bursts and pauses that make the input last about so long. */
function paceFor(recordCount: number, durationMs: number): Pace {
  const bursts = Math.max(1, Math.min(recordCount, 100));
  return {
    // A burst has half of its greatest length on average.
    burst: Math.max(1, Math.ceil((2 * recordCount) / bursts) - 1),
    pauseMs: Math.max(1, durationMs / bursts),
  };
}

/** What a simulation rests on: results appear with checkpoints, and nothing gives up. */
const FIXED_SETTINGS: ConfigSettings = {
  'execution.checkpointing.mode': 'EXACTLY_ONCE',
  'execution.checkpointing.checkpoints-after-tasks-finish': true,
  'execution.checkpointing.tolerable-failed-checkpoints': 100,
  'restart-strategy.type': 'exponential-delay',
  'restart-strategy.exponential-delay.initial-backoff': 10,
  'restart-strategy.exponential-delay.max-backoff': 500,
};

function drawSettings(random: Random): ConfigSettings {
  return {
    ...FIXED_SETTINGS,
    'execution.checkpointing.interval': pick(random, [10, 20, 20, 50, 100]),
    'execution.checkpointing.timeout': pick(random, [1000, 10_000, 600_000]),
    'execution.checkpointing.min-pause': pick(random, [0, 0, 5, 50]),
    'execution.checkpointing.max-concurrent-checkpoints': pick(random, [1, 1, 2, 3]),
    'execution.checkpointing.num-retained': pick(random, [1, 1, 2, 3]),
    'execution.checkpointing.data-inline-threshold': pick(random, [0, 200, 20_480]),
    'execution.buffer-timeout.interval': pick(random, [0, 1, 10, 100]),
    'pipeline.auto-watermark-interval': pick(random, [1, 10, 50, 200]),
    'jobmanager.execution.failover-strategy': pick(random, ['region', 'region', 'full']),
  };
}

function drawMoods(random: Random): Moods {
  return {
    disk: {
      latencyMs: pick(random, [0.05, 0.5, 5]),
      slowness: 1,
      failure: 0,
      lostAnswer: 0,
      bitFlip: 0,
      isFull: false,
    },
    link: { latencyMs: pick(random, [0.02, 0.2, 3]), cloggedUntil: 0 },
    pace: { stepMs: pick(random, [0.02, 0.2, 1]), jitterMs: pick(random, [0, 1, 5]) },
    linkCapacity: pick(random, [1, 4, 64]),
    encodesFrames: true,
    // Functions are made anew for each attempt; code for chains is generated now and then.
    shortcuts: { sharesPlans: false, plainChains: random.int(5) > 0 },
  };
}

/** Half of the jobs keep their parallelism over all restarts. */
function drawParallelisms(random: Random, allowed: readonly number[]): readonly number[] {
  const first = pick(random, allowed);
  if (random.int(2) === 0) return [first];
  return [first, pick(random, allowed), pick(random, allowed), pick(random, allowed)];
}

function pick<T>(random: Random, values: readonly T[]): T {
  return values[random.int(values.length)] as T;
}
