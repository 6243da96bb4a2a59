import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_KEYS, CONFIG_OPTIONS } from './config-options.ts';
import { Configuration } from './configuration.ts';
import { ConfigurationError } from './errors.ts';

const INTERVAL = 'execution.checkpointing.interval';
const TIMEOUT = 'execution.checkpointing.timeout';

function messageOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    assert.equal(error.message.includes('\n'), false, 'one line');
    return error.message;
  }
  return assert.fail('nothing was refused');
}

test('what is not set has its default', () => {
  assert.equal(Configuration.empty.get(TIMEOUT), 600_000);
  assert.equal(Configuration.empty.get(INTERVAL), null);
  assert.equal(Configuration.empty.get('execution.checkpointing.mode'), 'EXACTLY_ONCE');
  assert.equal(Configuration.empty.has(TIMEOUT), false);
});

test('every default is a value that the option itself accepts', () => {
  for (const key of CONFIG_KEYS) {
    const standard = CONFIG_OPTIONS[key].default;
    assert.equal(Configuration.fromObject({ [key]: standard }, 'test').get(key), standard, key);
  }
});

test('a file may nest its keys, or write them in one piece', () => {
  const configuration = Configuration.fromObject(
    { execution: { checkpointing: { interval: '10s', timeout: 5000 } }, 'parallelism.default': 3 },
    'weir.yaml',
  );
  assert.equal(configuration.get(INTERVAL), 10_000);
  assert.equal(configuration.get(TIMEOUT), 5000);
  assert.equal(configuration.get('parallelism.default'), 3);
  assert.equal(configuration.originOf(INTERVAL), 'weir.yaml');
});

test('a section of a file may be empty, a key without a value may not', () => {
  const file = { execution: { checkpointing: null }, heartbeat: null };
  assert.deepEqual(Configuration.fromObject(file, 'weir.yaml').keys(), []);
  assert.match(
    messageOf(() => Configuration.fromObject({ [TIMEOUT]: null }, 'weir.yaml')),
    /execution\.checkpointing\.timeout: null/,
  );
});

test('a later layer wins over an earlier one, key by key', () => {
  const code = Configuration.of({ [INTERVAL]: '10s', [TIMEOUT]: '1 min' }, 'orders.ts:4');
  const given = Configuration.fromProperties([`${INTERVAL}=5s`]);
  const effective = code.mergedWith(given);
  assert.equal(effective.get(INTERVAL), 5000);
  assert.equal(effective.originOf(INTERVAL), '-D');
  assert.equal(effective.get(TIMEOUT), 60_000);
  assert.equal(code.get(INTERVAL), 10_000, 'the layers themselves do not change');
});

test('of repeated settings on the command line the last one counts', () => {
  assert.equal(Configuration.fromProperties([`${TIMEOUT}=1s`, `${TIMEOUT}=2s`]).get(TIMEOUT), 2000);
});

test('an unknown key is refused and the nearest known one is named', () => {
  const message = messageOf(() =>
    Configuration.fromObject({ 'execution.checkpoint.interval': '1s' }, 'weir.yaml'),
  );
  assert.match(message, /execution\.checkpoint\.interval \(weir\.yaml\)/);
  assert.match(message, /did you mean "execution\.checkpointing\.interval"\?/);
});

test('a wrong value is refused in one line: the key, the value, where, what is allowed', () => {
  const duration = messageOf(() => Configuration.fromProperties([`${TIMEOUT}=5 apples`]));
  assert.match(duration, /execution\.checkpointing\.timeout: "5 apples" \(-D\)/);
  assert.match(duration, /allowed: a duration such as .* at least 10 ms/);
  const enumeration = messageOf(() =>
    Configuration.fromProperties(['execution.checkpointing.mode=twice']),
  );
  assert.match(enumeration, /"twice".*allowed: EXACTLY_ONCE, AT_LEAST_ONCE/);
  const number = messageOf(() => Configuration.of({ 'parallelism.default': 0 }));
  assert.match(number, /parallelism\.default: 0 .*a whole number, from 1 to 32768/);
});

test('values of a wrong kind are refused, whatever they are', () => {
  for (const value of ['', true, [1], null, 1.5, NaN, Infinity, '0x10'])
    messageOf(() =>
      Configuration.fromObject({ 'execution.checkpointing.num-retained': value }, 'test'),
    );
  for (const value of ['yes', 1, null])
    messageOf(() =>
      Configuration.fromObject({ 'execution.checkpointing.create-subdir': value }, 'test'),
    );
  messageOf(() => Configuration.fromObject({ 'execution.checkpointing.dir': '' }, 'test'));
});

test('a checkpoint interval of 9 ms is refused, one of 10 ms accepted [I-1]', () => {
  assert.match(
    messageOf(() => Configuration.of({ [INTERVAL]: 9 })),
    /at least 10 ms/,
  );
  assert.equal(Configuration.of({ [INTERVAL]: 10 }).get(INTERVAL), 10);
});

test('words are read in any case, with dashes or underscores', () => {
  const read = (value: string): string =>
    Configuration.fromProperties([`execution.checkpointing.mode=${value}`]).get(
      'execution.checkpointing.mode',
    );
  for (const value of ['AT_LEAST_ONCE', 'at_least_once', 'at-least-once'])
    assert.equal(read(value), 'AT_LEAST_ONCE');
  const strategy = Configuration.fromProperties(['restart-strategy.type=failurerate']);
  assert.equal(strategy.get('restart-strategy.type'), 'failure-rate');
});

test('none sets back what has no default, and switches off what may be off', () => {
  const configuration = Configuration.fromProperties([
    `${INTERVAL}=none`,
    'weir.task.stall-timeout=none',
    'restart-strategy.type=none',
  ]);
  assert.equal(configuration.get(INTERVAL), null);
  assert.equal(configuration.get('weir.task.stall-timeout'), null);
  assert.equal(configuration.get('restart-strategy.type'), 'none', 'none is a strategy');
  messageOf(() => Configuration.fromProperties([`${TIMEOUT}=none`]));
});

test('a pause of more than a year is lowered to one', () => {
  const configuration = Configuration.fromProperties(['execution.checkpointing.min-pause=400d']);
  assert.equal(configuration.get('execution.checkpointing.min-pause'), 365 * 86_400_000);
});

test('an older key is accepted with a warning, and the present one wins over it', () => {
  const old = Configuration.fromObject({ 'state.checkpoints.num-retained': 3 }, 'weir.yaml');
  assert.equal(old.get('execution.checkpointing.num-retained'), 3);
  assert.equal(old.warnings.length, 1);
  assert.match(
    old.warnings[0]!,
    /state\.checkpoints\.num-retained .*execution\.checkpointing\.num-retained/,
  );
  const both = {
    'execution.checkpointing.num-retained': 5,
    'state.checkpoints.num-retained': 3,
  };
  const reversed = Object.fromEntries(Object.entries(both).toReversed());
  for (const object of [both, reversed])
    assert.equal(
      Configuration.fromObject(object, 'weir.yaml').get('execution.checkpointing.num-retained'),
      5,
    );
});

test('an older key that stood for two options sets both', () => {
  const configuration = Configuration.fromProperties(['state.backend.local-recovery=true']);
  assert.equal(configuration.get('execution.checkpointing.local-backup.enabled'), true);
  assert.equal(configuration.get('execution.state-recovery.from-local'), true);
});

test('an argument of -D without a value is refused', () => {
  assert.match(
    messageOf(() => Configuration.fromProperties([TIMEOUT])),
    /-Dkey=value/,
  );
});

test('a configuration crosses threads as plain data', () => {
  const configuration = Configuration.fromProperties([`${INTERVAL}=5s`, 'restart-strategy=none']);
  const copy = Configuration.fromPlain(structuredClone(configuration.toPlain()));
  assert.equal(copy.get(INTERVAL), 5000);
  assert.equal(copy.originOf(INTERVAL), '-D');
  assert.deepEqual(copy.warnings, configuration.warnings);
  assert.deepEqual(copy.keys(), configuration.keys());
});

test('no key is also the older name of another', () => {
  const older = CONFIG_KEYS.flatMap((key) => CONFIG_OPTIONS[key].deprecatedKeys ?? []);
  for (const key of older) assert.equal(Object.hasOwn(CONFIG_OPTIONS, key), false, key);
});

test('the drill is set as every N, or as N alone', () => {
  const key = 'weir.checkpoint.drill';
  for (const text of ['every 5', 'EVERY  5', '5', ' every 5 '])
    assert.equal(Configuration.fromProperties([`${key}=${text}`]).get(key), 5, text);
  assert.equal(Configuration.of({ [key]: 'every 3' }).get(key), 3);
  assert.equal(Configuration.fromProperties([`${key}=0`]).get(key), 0);
  for (const text of ['every', 'every -1', 'each 5', 'every 5 checkpoints', '1.5'])
    assert.match(
      messageOf(() => Configuration.fromProperties([`${key}=${text}`])),
      /a whole number, at least 0, as in 5 or every 5/,
    );
});
