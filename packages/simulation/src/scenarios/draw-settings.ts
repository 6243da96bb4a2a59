/** Draws the settings of a run: every checkpoint option, buffers, restarts. */
import { Configuration } from '@weir/core/internal/base/configuration';
import type { Random } from '@weir/core/internal/base/random';

export interface DrawnSettings {
  readonly configuration: Configuration;
  readonly mode: 'EXACTLY_ONCE' | 'AT_LEAST_ONCE';
  /** Whether results are published but once, by what the settings promise. */
  readonly exactlyOnce: boolean;
  /** Sinks publish when their input ends, without a checkpoint. */
  readonly commitsAtEnd: boolean;
}

function pick<T>(random: Random, values: readonly T[]): T {
  return values[random.int(values.length)] as T;
}

export function drawSettings(random: Random): DrawnSettings {
  const mode = random.int(8) === 0 ? 'AT_LEAST_ONCE' : 'EXACTLY_ONCE';
  const afterFinish = random.int(10) > 0;
  const configuration = Configuration.of(
    {
      'execution.checkpointing.interval': pick(random, [10, 20, 50, 100, 300]),
      'execution.checkpointing.mode': mode,
      // Not longer than a job may be still: a lost message is made up for by the time-out alone.
      'execution.checkpointing.timeout': pick(random, [1000, 3000, 10_000, 10_000]),
      'execution.checkpointing.min-pause': pick(random, [0, 0, 5, 50]),
      'execution.checkpointing.max-concurrent-checkpoints': pick(random, [1, 1, 2, 3]),
      'execution.checkpointing.tolerable-failed-checkpoints': pick(random, [0, 1, 3, 100]),
      'execution.checkpointing.num-retained': pick(random, [1, 1, 2, 3]),
      'execution.checkpointing.externalized-checkpoint-retention': pick(random, [
        'RETAIN_ON_CANCELLATION',
        'DELETE_ON_CANCELLATION',
        'NO_EXTERNALIZED_CHECKPOINTS',
      ]),
      'execution.checkpointing.checkpoints-after-tasks-finish': afterFinish,
      'execution.checkpointing.aligned-checkpoint-timeout': pick(random, [0, 10, 1000]),
      'execution.checkpointing.cleaner.parallel-mode': random.int(2) === 0,
      'execution.checkpointing.create-subdir': random.int(4) > 0,
      'execution.checkpointing.data-inline-threshold': pick(random, [0, 200, 20_480]),
      'execution.buffer-timeout.interval': pick(random, [0, 1, 10, 100]),
      'pipeline.auto-watermark-interval': pick(random, [5, 10, 50, 200]),
      'pipeline.max-parallelism': pick(random, [8, 128]),
      'jobmanager.execution.failover-strategy': pick(random, ['region', 'region', 'full']),
      'sink.committer.retries': pick(random, [0, 3, 10]),
      ...drawRestart(random),
    },
    'simulation',
  );
  const exactlyOnce = mode === 'EXACTLY_ONCE' && afterFinish;
  return { configuration, mode, exactlyOnce, commitsAtEnd: !afterFinish };
}

/** With some of the settings changed. */
export function withSettings(
  settings: DrawnSettings,
  values: Readonly<Record<string, string | number | boolean>>,
): DrawnSettings {
  const configuration = settings.configuration.mergedWith(Configuration.of(values, 'scenario'));
  return { ...settings, configuration };
}

/** Sinks publish with a last checkpoint, so the mode alone decides whether results are exact. */
export function checkpointsAfterFinish(settings: DrawnSettings): DrawnSettings {
  const changed = withSettings(settings, {
    'execution.checkpointing.checkpoints-after-tasks-finish': true,
  });
  return { ...changed, exactlyOnce: settings.mode === 'EXACTLY_ONCE', commitsAtEnd: false };
}

function drawRestart(random: Random): Record<string, string | number> {
  switch (random.int(3)) {
    case 0:
      return {
        'restart-strategy.type': 'fixed-delay',
        'restart-strategy.fixed-delay.attempts': 1 + random.int(100),
        'restart-strategy.fixed-delay.delay': random.int(50),
      };
    case 1:
      return {
        'restart-strategy.type': 'failure-rate',
        'restart-strategy.failure-rate.max-failures-per-interval': 1 + random.int(20),
        'restart-strategy.failure-rate.failure-rate-interval': 1000,
        'restart-strategy.failure-rate.delay': random.int(50),
      };
    default:
      return {
        'restart-strategy.type': 'exponential-delay',
        'restart-strategy.exponential-delay.initial-backoff': 10,
        'restart-strategy.exponential-delay.max-backoff': 500,
      };
  }
}
