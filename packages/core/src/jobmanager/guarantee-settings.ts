/** From the configuration of a run to what the planner of guarantees takes. */
import type { Configuration } from '../base/configuration.ts';
import type { GuaranteeSettings } from '../graph/guarantee-planner.ts';
import type { RestartStrategyConfig } from '../protocol/execution/restart-strategy.ts';
import { restartSettings } from './job-settings.ts';

export function guaranteeSettings(configuration: Configuration): GuaranteeSettings {
  const intervalMs = configuration.get('execution.checkpointing.interval');
  return {
    checkpoints:
      intervalMs === null
        ? null
        : {
            intervalMs,
            timeoutMs: configuration.get('execution.checkpointing.timeout'),
            mode: configuration.get('execution.checkpointing.mode'),
            retained: configuration.get('execution.checkpointing.num-retained'),
            endsWithOne: configuration.get(
              'execution.checkpointing.checkpoints-after-tasks-finish',
            ),
          },
    restartDelayMs: firstThreeDelaysMs(restartSettings(configuration)),
    defaultParallelism: configuration.get('parallelism.default'),
    required: configuration.get('weir.guarantee'),
  };
}

/** As they are without jitter. */
function firstThreeDelaysMs(config: RestartStrategyConfig): number {
  switch (config.type) {
    case 'none':
      return 0;
    case 'fixed-delay':
      return Math.min(3, config.attempts) * config.delayMs;
    case 'failure-rate':
      return 3 * config.delayMs;
    case 'exponential-delay': {
      const { initialBackoffMs, backoffMultiplier, firstDelayMs } = config;
      const second = initialBackoffMs * backoffMultiplier;
      const first = firstDelayMs ?? second * backoffMultiplier;
      return first + initialBackoffMs + second;
    }
  }
}
