/** Restart strategies as typed values; each field is one `restart-strategy.*` option. */
import type { ConfigSettings } from '../base/config-options.ts';
import type { Duration } from '../base/duration.ts';

/** How a failed job is restarted. Fields left out have the defaults of the configuration. */
export type RestartStrategy =
  | { readonly type: 'none' }
  | {
      readonly type: 'fixed-delay';
      /** Restarts before the job fails for good. */
      readonly attempts?: number;
      readonly delay?: Duration;
    }
  | {
      readonly type: 'failure-rate';
      readonly maxFailuresPerInterval?: number;
      readonly failureRateInterval?: Duration;
      readonly delay?: Duration;
    }
  | {
      readonly type: 'exponential-delay';
      readonly firstBackoff?: Duration;
      readonly initialBackoff?: Duration;
      readonly maxBackoff?: Duration;
      readonly backoffMultiplier?: number;
      readonly resetBackoffThreshold?: Duration;
      /** Share of a delay added or taken away at random, from 0 to 1. */
      readonly jitterFactor?: number;
      readonly attemptsBeforeResetBackoff?: number;
    };

/** The options that say the same. */
export function restartStrategySettings(strategy: RestartStrategy): ConfigSettings {
  const { type } = strategy;
  switch (type) {
    case 'none':
      return { 'restart-strategy.type': type };
    case 'fixed-delay':
      return withoutUndefined({
        'restart-strategy.type': type,
        'restart-strategy.fixed-delay.attempts': strategy.attempts,
        'restart-strategy.fixed-delay.delay': strategy.delay,
      });
    case 'failure-rate': {
      const prefix = 'restart-strategy.failure-rate';
      return withoutUndefined({
        'restart-strategy.type': type,
        [`${prefix}.max-failures-per-interval`]: strategy.maxFailuresPerInterval,
        [`${prefix}.failure-rate-interval`]: strategy.failureRateInterval,
        [`${prefix}.delay`]: strategy.delay,
      });
    }
    case 'exponential-delay': {
      const prefix = 'restart-strategy.exponential-delay';
      return withoutUndefined({
        'restart-strategy.type': type,
        [`weir.${prefix}.first-backoff`]: strategy.firstBackoff,
        [`${prefix}.initial-backoff`]: strategy.initialBackoff,
        [`${prefix}.max-backoff`]: strategy.maxBackoff,
        [`${prefix}.backoff-multiplier`]: strategy.backoffMultiplier,
        [`${prefix}.reset-backoff-threshold`]: strategy.resetBackoffThreshold,
        [`${prefix}.jitter-factor`]: strategy.jitterFactor,
        [`${prefix}.attempts-before-reset-backoff`]: strategy.attemptsBeforeResetBackoff,
      });
    }
  }
}

function withoutUndefined(settings: Readonly<Record<string, unknown>>): ConfigSettings {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}
