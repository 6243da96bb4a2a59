/**
 * The restart strategy that a configuration asks for, with the defaults that depend on other
 * options resolved. The shape is that of the restart strategies in `protocol/execution`.
 */
import type { Configuration } from './configuration.ts';

/** Delay of the first restart where nothing is said: most failures pass at once. */
const FIRST_BACKOFF_MS = 100;

export type RestartStrategySettings =
  | { readonly type: 'none' }
  | { readonly type: 'fixed-delay'; readonly attempts: number; readonly delayMs: number }
  | {
      readonly type: 'failure-rate';
      readonly maxFailuresPerInterval: number;
      readonly intervalMs: number;
      readonly delayMs: number;
    }
  | {
      readonly type: 'exponential-delay';
      readonly firstDelayMs: number | null;
      readonly initialBackoffMs: number;
      readonly maxBackoffMs: number;
      readonly backoffMultiplier: number;
      readonly jitterFactor: number;
      readonly resetBackoffThresholdMs: number;
      readonly attemptsBeforeResetBackoff: number;
    };

/** Without a type: `exponential-delay` with checkpoints, `none` without, as in Flink. */
export function restartStrategyOf(configuration: Configuration): RestartStrategySettings {
  const checkpoints = configuration.get('execution.checkpointing.interval') !== null;
  const type = configuration.get('restart-strategy.type');
  switch (type ?? (checkpoints ? 'exponential-delay' : 'none')) {
    case 'none':
      return { type: 'none' };
    case 'fixed-delay':
      return {
        type: 'fixed-delay',
        attempts: configuration.get('restart-strategy.fixed-delay.attempts'),
        delayMs: configuration.get('restart-strategy.fixed-delay.delay'),
      };
    case 'failure-rate': {
      const prefix = 'restart-strategy.failure-rate';
      return {
        type: 'failure-rate',
        maxFailuresPerInterval: configuration.get(`${prefix}.max-failures-per-interval`),
        intervalMs: configuration.get(`${prefix}.failure-rate-interval`),
        delayMs: configuration.get(`${prefix}.delay`),
      };
    }
    case 'exponential-delay':
      return exponentialDelay(configuration);
  }
}

function exponentialDelay(configuration: Configuration): RestartStrategySettings {
  const prefix = 'restart-strategy.exponential-delay';
  const first = configuration.get(`weir.${prefix}.first-backoff`);
  const isInitialGiven = configuration.has(`${prefix}.initial-backoff`);
  const attempts = configuration.get(`${prefix}.attempts-before-reset-backoff`);
  return {
    type: 'exponential-delay',
    firstDelayMs: first ?? (isInitialGiven ? null : FIRST_BACKOFF_MS),
    initialBackoffMs: configuration.get(`${prefix}.initial-backoff`),
    maxBackoffMs: configuration.get(`${prefix}.max-backoff`),
    backoffMultiplier: configuration.get(`${prefix}.backoff-multiplier`),
    jitterFactor: configuration.get(`${prefix}.jitter-factor`),
    resetBackoffThresholdMs: configuration.get(`${prefix}.reset-backoff-threshold`),
    attemptsBeforeResetBackoff: attempts ?? Infinity,
  };
}
