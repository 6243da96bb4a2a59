/** Whether and when a failed job is restarted. */

export type RestartStrategyConfig =
  | {
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
  | { readonly type: 'fixed-delay'; readonly attempts: number; readonly delayMs: number }
  | {
      readonly type: 'failure-rate';
      readonly maxFailuresPerInterval: number;
      readonly intervalMs: number;
      readonly delayMs: number;
    }
  | { readonly type: 'none' };

export type RestartDecision =
  | { readonly restart: true; readonly delayMs: number }
  | { readonly restart: false; readonly reason: string };

export interface RestartStrategy {
  /** Takes note of a failure. `now` in monotonic ms, `draw` a random number in [0, 1). */
  failed(now: number, draw: number): RestartDecision;
}

export function createRestartStrategy(_config: RestartStrategyConfig): RestartStrategy {
  throw new Error('stub');
}

/** Flink's defaults per type; the first exponential delay is Weir's 100 ms. */
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
