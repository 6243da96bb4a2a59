import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHECKPOINT_OPTIONS } from '../base/options/checkpoint-options.ts';
import { Configuration } from '../base/configuration.ts';
import { ConfigurationError } from '../base/errors.ts';
import { CheckpointConfig } from './checkpoint-config.ts';
import { SettingsInCode } from './settings-in-code.ts';

test('a setter sets the option that says the same', () => {
  const settings = new SettingsInCode(Configuration.empty, undefined);
  new CheckpointConfig(settings)
    .setCheckpointInterval('5s')
    .setCheckpointIntervalDuringBacklog(0)
    .setCheckpointingConsistencyMode('AT_LEAST_ONCE')
    .setCheckpointTimeout('2 min')
    .setMinPauseBetweenCheckpoints(500)
    .setMaxConcurrentCheckpoints(2)
    .setTolerableCheckpointFailureNumber(3)
    .setExternalizedCheckpointRetention('RETAIN_ON_CANCELLATION')
    .enableCheckpointsAfterTasksFinish(false)
    .setNumRetainedCheckpoints(4)
    .setCheckpointStorage('filesystem')
    .setCheckpointDirectory('/checkpoints')
    .enableCheckpointSubdirectory(false)
    .setDataInlineThreshold('1kb')
    .setWriteBufferSize('8kb')
    .enableParallelCleanup(false)
    .setAlignedCheckpointTimeout('30s')
    .setCheckpointIdOfIgnoredInFlightData(7);
  const prefix = 'execution.checkpointing.';
  const set = settings
    .effective()
    .toPlain()
    .settings.map(([key, value]) => [key.replace(prefix, ''), value]);
  assert.deepEqual(Object.fromEntries(set), {
    interval: 5000,
    'interval-during-backlog': 0,
    mode: 'AT_LEAST_ONCE',
    timeout: 120_000,
    'min-pause': 500,
    'max-concurrent-checkpoints': 2,
    'tolerable-failed-checkpoints': 3,
    'externalized-checkpoint-retention': 'RETAIN_ON_CANCELLATION',
    'checkpoints-after-tasks-finish': false,
    'num-retained': 4,
    storage: 'filesystem',
    dir: '/checkpoints',
    'create-subdir': false,
    'data-inline-threshold': 1024,
    'write-buffer-size': 8192,
    'cleaner.parallel-mode': false,
    'aligned-checkpoint-timeout': 30_000,
    'execution.state-recovery.without-channel-state.checkpoint-id': 7,
  });
});

test('every supported option of checkpoints has a setter', () => {
  const settings = new SettingsInCode(Configuration.empty, undefined);
  const config = new CheckpointConfig(settings);
  const values: readonly unknown[] = [true, 1, 20, '1s', 'filesystem', 'AT_LEAST_ONCE'];
  for (const name of Object.getOwnPropertyNames(CheckpointConfig.prototype)) {
    if (name === 'constructor') continue;
    const setter = (config as unknown as Record<string, (value: unknown) => unknown>)[name]!;
    const accepted = [...values, 'RETAIN_ON_CANCELLATION'].some((value) => {
      try {
        setter.call(config, value);
        return true;
      } catch (error) {
        assert.ok(error instanceof ConfigurationError);
        return false;
      }
    });
    assert.ok(accepted, name);
  }
  const without = Object.keys(CHECKPOINT_OPTIONS)
    .filter((key) => key.startsWith('execution.checkpointing.'))
    // Set by `env.setDefaultSavepointDirectory`.
    .filter((key) => key !== 'execution.checkpointing.savepoint-dir')
    .filter((key) => !settings.effective().has(key as never));
  assert.deepEqual(without, [], 'options without a setter');
});

test('a wrong value is refused at the call that sets it', () => {
  const config = new CheckpointConfig(new SettingsInCode(Configuration.empty, undefined));
  assert.throws(
    () => config.setCheckpointTimeout(9),
    /execution\.checkpointing\.timeout: 9 \(checkpoint-config\.test\.ts:\d+\).*at least 10 ms/,
  );
});
