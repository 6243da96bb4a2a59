import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfiguration } from './check-configuration.ts';
import type { ConfigSettings } from './config-options.ts';
import { CONFIG_KEYS, CONFIG_OPTIONS } from './config-options.ts';
import { Configuration } from './configuration.ts';
import { ConfigurationError } from './errors.ts';

function refusal(settings: ConfigSettings): { readonly code: string; readonly message: string } {
  try {
    checkConfiguration(Configuration.of(settings, 'weir.yaml'));
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    assert.equal(error.message.includes('\n'), false, 'one line');
    return error;
  }
  return assert.fail('nothing was refused');
}

function warnings(settings: ConfigSettings): readonly string[] {
  return checkConfiguration(Configuration.of(settings));
}

test('the defaults fit each other', () => {
  assert.deepEqual(warnings({}), []);
});

test('unaligned checkpoints and more than one at a time exclude each other [I-2]', () => {
  const { code, message } = refusal({
    'execution.checkpointing.unaligned.enabled': true,
    'execution.checkpointing.max-concurrent-checkpoints': 2,
  });
  assert.equal(code, 'CONFIG_INVALID');
  assert.match(message, /unaligned\.enabled and .*max-concurrent-checkpoints/);
});

test('an interval during backlog is 0 or at least the interval [I-3]', () => {
  const settings = { 'execution.checkpointing.interval': '1s' } as const;
  const backlog = 'execution.checkpointing.interval-during-backlog';
  assert.match(refusal({ ...settings, [backlog]: 500 }).message, /500 ms .*0 .*at least 1 s/);
  assert.match(refusal({ [backlog]: 9 }).message, /at least 10 ms/);
  assert.deepEqual(warnings({ ...settings, [backlog]: 0 }), []);
  assert.deepEqual(warnings({ ...settings, [backlog]: 1000 }), []);
});

test('a restart strategy with checkpoints off is refused', () => {
  const { message } = refusal({ 'restart-strategy.type': 'fixed-delay' });
  assert.match(message, /fixed-delay needs checkpoints.*execution\.checkpointing\.interval/);
  assert.deepEqual(warnings({ 'restart-strategy.type': 'none' }), []);
  assert.deepEqual(
    warnings({
      'restart-strategy.type': 'fixed-delay',
      'execution.checkpointing.interval': '1s',
    }),
    [],
  );
});

test('settings that must be ordered are refused when they are not', () => {
  const cases: readonly ConfigSettings[] = [
    { 'heartbeat.interval': 5000, 'heartbeat.timeout': 5000 },
    { 'parallelism.default': 8, 'pipeline.max-parallelism': 4 },
    { 'weir.task.stall-warning': '2 min' },
    { 'restart-strategy.exponential-delay.initial-backoff': '2 min' },
    { 'state.changelog.dstl.dfs.upload.max-in-flight': '1mb' },
  ];
  for (const settings of cases) assert.equal(refusal(settings).code, 'CONFIG_INVALID');
  assert.deepEqual(warnings({ 'parallelism.default': 4, 'pipeline.max-parallelism': 4 }), []);
  assert.deepEqual(
    warnings({ 'weir.task.stall-warning': '2 min', 'weir.task.stall-timeout': null }),
    [],
  );
});

test('a setting that this version cannot honour is refused unless it is the default', () => {
  const { code, message } = refusal({ 'execution.checkpointing.unaligned.enabled': true });
  assert.equal(code, 'CONFIG_UNSUPPORTED');
  assert.match(message, /unaligned\.enabled: true \(weir\.yaml\) is not supported/);
  assert.deepEqual(warnings({ 'execution.checkpointing.unaligned.enabled': false }), []);
  for (const key of CONFIG_KEYS.filter((one) => CONFIG_OPTIONS[one].supported === false))
    checkConfiguration(Configuration.fromObject({ [key]: CONFIG_OPTIONS[key].default }, 'test'));
});

test('values that come later are refused one by one', () => {
  for (const settings of [
    { 'state.backend.type': 'rocksdb' },
    { 'jobmanager.execution.failover-strategy': 'downstream' },
    { 'execution.checkpointing.incremental': true },
  ] as const)
    assert.equal(refusal(settings).code, 'CONFIG_UNSUPPORTED');
  assert.deepEqual(warnings({ 'state.backend.type': 'hashmap' }), []);
});

test('settings that have no effect together are warned of', () => {
  const [pause] = warnings({
    'execution.checkpointing.min-pause': 10,
    'execution.checkpointing.max-concurrent-checkpoints': 2,
  });
  assert.match(pause!, /min-pause above 0 means one checkpoint at a time/);
});

test('warnings of older keys come along', () => {
  const configuration = Configuration.fromProperties(['state.checkpoints.num-retained=2']);
  assert.equal(checkConfiguration(configuration).length, 1);
});

test('a changelog is refused before a start, whatever the claim mode [R059]', () => {
  for (const mode of ['NO_CLAIM', 'CLAIM'] as const) {
    const { code, message } = refusal({
      'state.changelog.enabled': true,
      'execution.state-recovery.claim-mode': mode,
    });
    assert.equal(code, 'CONFIG_UNSUPPORTED');
    assert.match(message, /state\.changelog\.enabled/);
  }
});
