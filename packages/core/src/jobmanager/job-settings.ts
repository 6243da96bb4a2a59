/** From the configuration of a run to the settings that the JobManager's parts take. */
import type { Configuration } from '../base/configuration.ts';
import { ConfigurationError } from '../base/errors.ts';
import type { CheckpointCoordinatorConfig } from '../protocol/checkpoint/checkpoint-config.ts';
import { checkpointConfig } from '../protocol/checkpoint/checkpoint-config.ts';
import type { RestartStrategyConfig } from '../protocol/execution/restart-strategy.ts';
import { defaultRestartStrategy } from '../protocol/execution/restart-strategy.ts';

/** Delay of the first restart, unless another is set. */
const FIRST_DELAY_MS = 100;

export function checkpointSettings(c: Configuration): CheckpointCoordinatorConfig {
  return checkpointConfig({
    intervalMs: c.get('execution.checkpointing.interval'),
    intervalDuringBacklogMs: c.get('execution.checkpointing.interval-during-backlog'),
    mode: c.get('execution.checkpointing.mode'),
    timeoutMs: c.get('execution.checkpointing.timeout'),
    minPauseMs: c.get('execution.checkpointing.min-pause'),
    maxConcurrentCheckpoints: c.get('execution.checkpointing.max-concurrent-checkpoints'),
    tolerableFailedCheckpoints: c.get('execution.checkpointing.tolerable-failed-checkpoints'),
    retention: c.get('execution.checkpointing.externalized-checkpoint-retention'),
    numRetained: c.get('execution.checkpointing.num-retained'),
    checkpointsAfterTasksFinish: c.get('execution.checkpointing.checkpoints-after-tasks-finish'),
  });
}

/**
 * Whether sinks may be ahead of the snapshot that is restored. Those that publish at their end,
 * without a checkpoint, are ahead of the newest one too.
 */
export function allowsOlder(c: Configuration): boolean {
  return (
    c.get('execution.state-recovery.allow-older') ||
    !c.get('execution.checkpointing.checkpoints-after-tasks-finish')
  );
}

export function restartSettings(c: Configuration): RestartStrategyConfig {
  const isCheckpointing = c.get('execution.checkpointing.interval') !== null;
  const type = c.get('restart-strategy.type') ?? defaultRestartStrategy(isCheckpointing).type;
  switch (type) {
    case 'none':
      return { type };
    case 'fixed-delay':
      return {
        type,
        attempts: c.get('restart-strategy.fixed-delay.attempts'),
        delayMs: c.get('restart-strategy.fixed-delay.delay'),
      };
    case 'failure-rate':
      return {
        type,
        maxFailuresPerInterval: c.get('restart-strategy.failure-rate.max-failures-per-interval'),
        intervalMs: c.get('restart-strategy.failure-rate.failure-rate-interval'),
        delayMs: c.get('restart-strategy.failure-rate.delay'),
      };
    case 'exponential-delay':
      return {
        type,
        firstDelayMs:
          c.get('weir.restart-strategy.exponential-delay.first-backoff') ??
          (c.has('restart-strategy.exponential-delay.initial-backoff') ? null : FIRST_DELAY_MS),
        initialBackoffMs: c.get('restart-strategy.exponential-delay.initial-backoff'),
        maxBackoffMs: c.get('restart-strategy.exponential-delay.max-backoff'),
        backoffMultiplier: c.get('restart-strategy.exponential-delay.backoff-multiplier'),
        jitterFactor: c.get('restart-strategy.exponential-delay.jitter-factor'),
        resetBackoffThresholdMs: c.get(
          'restart-strategy.exponential-delay.reset-backoff-threshold',
        ),
        attemptsBeforeResetBackoff:
          c.get('restart-strategy.exponential-delay.attempts-before-reset-backoff') ?? Infinity,
      };
  }
}

export function failoverStrategy(c: Configuration): 'region' | 'full' {
  const value = c.get('jobmanager.execution.failover-strategy');
  if (value === 'region' || value === 'full') return value;
  throw new ConfigurationError(
    `jobmanager.execution.failover-strategy: ${value} is not supported by this version; ` +
      'use region or full',
    { code: 'CONFIG_UNSUPPORTED' },
  );
}
