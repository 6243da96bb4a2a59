/** From the configuration of a run to the settings that tasks read. */
import type { Configuration } from '../../base/configuration.ts';
import type { TaskSettings } from './task-environment.ts';

export function taskSettings(c: Configuration): TaskSettings {
  const isCheckpointing = c.get('execution.checkpointing.interval') !== null;
  return {
    checkpointingMode: isCheckpointing ? c.get('execution.checkpointing.mode') : null,
    checkpointsAfterTasksFinish: c.get('execution.checkpointing.checkpoints-after-tasks-finish'),
    inlineThresholdBytes: c.get('execution.checkpointing.data-inline-threshold'),
    bufferTimeoutMs: c.get('execution.buffer-timeout.interval') ?? Infinity,
    autoWatermarkIntervalMs: c.get('pipeline.auto-watermark-interval'),
    committerRetries: c.get('sink.committer.retries'),
    latency: {
      intervalMs: c.get('metrics.latency.interval'),
      granularity: c.get('metrics.latency.granularity'),
      historySize: c.get('metrics.latency.history-size'),
    },
    buffersPerChannel: c.get('taskmanager.network.memory.buffers-per-channel'),
    freezeState: false,
  };
}
