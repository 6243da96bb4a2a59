/**
 * Whether and when a failed job is restarted: Flink's strategies and defaults. A strategy counts
 * failures as `JobExecution` reports them, which merges all failures that happen while a restart is
 * pending into one. Pure: time and the random draw for jitter are arguments.
 */
import { unreachable } from '../../base/assert.ts';

/**
 * Delays grow from `initialBackoffMs` by `backoffMultiplier` up to `maxBackoffMs`, each moved by
 * ± `jitterFactor` of itself, so that many jobs do not come back in step.
 */
export interface ExponentialDelayConfig {
  readonly type: 'exponential-delay';
  /** Delay of the first restart after quiet time; `null`: `initialBackoffMs`, as in Flink. */
  readonly firstDelayMs: number | null;
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly backoffMultiplier: number;
  readonly jitterFactor: number;
  /** So long without a failure after a restart, and the delays begin anew. */
  readonly resetBackoffThresholdMs: number;
  /** Restarts allowed before the delays begin anew; Infinity: no limit. */
  readonly attemptsBeforeResetBackoff: number;
}

/** `attempts` restarts in the life of the job, each after `delayMs`. */
export interface FixedDelayConfig {
  readonly type: 'fixed-delay';
  readonly attempts: number;
  readonly delayMs: number;
}

/** Refuses once more than `maxFailuresPerInterval` failures fall into one interval. */
export interface FailureRateConfig {
  readonly type: 'failure-rate';
  readonly maxFailuresPerInterval: number;
  readonly intervalMs: number;
  readonly delayMs: number;
}

export type RestartStrategyConfig =
  | ExponentialDelayConfig
  | FixedDelayConfig
  | FailureRateConfig
  | { readonly type: 'none' };

export type RestartDecision =
  | { readonly restart: true; readonly delayMs: number }
  /** `reason` completes the sentence "the job is not restarted, since …". */
  | { readonly restart: false; readonly reason: string };

export interface RestartStrategy {
  /** Takes note of a failure. `now` in monotonic milliseconds, `draw` random in [0, 1). */
  failed(now: number, draw: number): RestartDecision;
}

/** Flink's defaults per type, but for the first exponential delay: most failures pass at once. */
export const RESTART_STRATEGY_DEFAULTS: {
  readonly [T in RestartStrategyConfig['type']]: Extract<RestartStrategyConfig, { type: T }>;
} = {
  'exponential-delay': {
    type: 'exponential-delay',
    firstDelayMs: 100,
    initialBackoffMs: 1_000,
    maxBackoffMs: 60_000,
    backoffMultiplier: 1.5,
    jitterFactor: 0.1,
    resetBackoffThresholdMs: 3_600_000,
    attemptsBeforeResetBackoff: Infinity,
  },
  'fixed-delay': { type: 'fixed-delay', attempts: 1, delayMs: 1_000 },
  'failure-rate': {
    type: 'failure-rate',
    maxFailuresPerInterval: 1,
    intervalMs: 60_000,
    delayMs: 1_000,
  },
  none: { type: 'none' },
};

/** When nothing is configured: exponential delay with checkpoints, else no restart. */
export function defaultRestartStrategy(checkpointing: boolean): RestartStrategyConfig {
  return RESTART_STRATEGY_DEFAULTS[checkpointing ? 'exponential-delay' : 'none'];
}

export function createRestartStrategy(config: RestartStrategyConfig): RestartStrategy {
  switch (config.type) {
    case 'exponential-delay':
      return exponentialDelay(config);
    case 'fixed-delay':
      return fixedDelay(config);
    case 'failure-rate':
      return failureRate(config);
    case 'none':
      return { failed: () => ({ restart: false, reason: 'the restart strategy is "none"' }) };
    default:
      return unreachable(config);
  }
}

function exponentialDelay(config: ExponentialDelayConfig): RestartStrategy {
  let restarts = 0;
  /** Quiet time counts from here: the moment the last restart was due. */
  let lastRestartAt = -Infinity;
  return {
    failed(now, draw) {
      if (now - lastRestartAt >= config.resetBackoffThresholdMs) restarts = 0;
      if (restarts >= config.attemptsBeforeResetBackoff)
        return { restart: false, reason: exhausted('exponential-delay', restarts) };
      const delayMs = exponentialDelayMs(config, restarts, draw);
      restarts++;
      lastRestartAt = now + delayMs;
      return { restart: true, delayMs };
    },
  };
}

function exponentialDelayMs(
  config: ExponentialDelayConfig,
  restarts: number,
  draw: number,
): number {
  const { firstDelayMs, initialBackoffMs, maxBackoffMs } = config;
  if (restarts === 0 && firstDelayMs !== null)
    return withJitter(firstDelayMs, config.jitterFactor, draw);
  const exponent = firstDelayMs === null ? restarts : restarts - 1;
  const backoffMs = Math.min(initialBackoffMs * config.backoffMultiplier ** exponent, maxBackoffMs);
  const jittered = withJitter(Math.floor(backoffMs), config.jitterFactor, draw);
  return Math.min(Math.max(jittered, initialBackoffMs), maxBackoffMs);
}

function withJitter(delayMs: number, jitterFactor: number, draw: number): number {
  const offset = Math.floor(delayMs * jitterFactor);
  return delayMs - offset + Math.floor(draw * (2 * offset + 1));
}

function fixedDelay({ attempts, delayMs }: FixedDelayConfig): RestartStrategy {
  let restarts = 0;
  return {
    failed() {
      if (restarts >= attempts)
        return { restart: false, reason: exhausted('fixed-delay', attempts) };
      restarts++;
      return { restart: true, delayMs };
    },
  };
}

function failureRate(config: FailureRateConfig): RestartStrategy {
  const { maxFailuresPerInterval, intervalMs, delayMs } = config;
  let failures: readonly number[] = [];
  return {
    failed(now) {
      failures = [...failures.filter((at) => now - at <= intervalMs), now];
      if (failures.length <= maxFailuresPerInterval) return { restart: true, delayMs };
      const reason =
        `it failed ${failures.length} times within ${intervalMs} ms, and the restart strategy ` +
        `"failure-rate" allows ${maxFailuresPerInterval}`;
      return { restart: false, reason };
    },
  };
}

function exhausted(type: string, restarts: number): string {
  return `the restart strategy "${type}" allows ${restarts} restart${restarts === 1 ? '' : 's'}`;
}
