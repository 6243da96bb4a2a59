import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWeirError } from '@weir/core';
import { json } from './formats/serde.ts';
import { kafkaSink } from './kafka-sink.ts';
import type { KafkaSinkOptions } from './kafka-sink.ts';
import { kafkaSource } from './kafka-source.ts';
import type { KafkaSourceOptions } from './kafka-source.ts';

type Wrong = Readonly<Record<string, unknown>>;

/** As from a job that no compiler has seen. */
function source(wrong: Wrong): unknown {
  const options: Wrong = { bootstrap: 'k:9092', topics: 't', value: json(), ...wrong };
  return kafkaSource(options as unknown as KafkaSourceOptions<unknown>);
}

function sink(wrong: Wrong): unknown {
  const options: Wrong = { bootstrap: 'k:9092', topic: 't', value: json(), ...wrong };
  return kafkaSink(options as unknown as KafkaSinkOptions<unknown>);
}

function refuses(make: () => unknown, message: RegExp | string): void {
  assert.throws(make, (error) => {
    assert.ok(isWeirError(error));
    assert.equal(error.code, 'CONFIG_INVALID');
    if (typeof message === 'string') assert.ok(error.message.includes(message), error.message);
    else assert.match(error.message, message);
    return true;
  });
}

const BOTH: readonly Wrong[] = [
  ...[undefined, '', [], 7, [7], 'host', 'host:0', 'host:70000'].map((bootstrap) => ({
    bootstrap,
  })),
  ...[5, ''].map((clientId) => ({ clientId })),
  ...[0, -1, 1.5, '10s', 3e9].flatMap((ms) => [{ connectTimeoutMs: ms }, { requestTimeoutMs: ms }]),
  ...[-1, Number.NaN].map((retryForMs) => ({ retryForMs })),
  ...[true, null, 'ca'].map((tls) => ({ tls })),
  { value: undefined },
  { value: 'json' },
  { value: json },
];

const SOURCE: readonly Wrong[] = [
  ...[undefined, '', [], [''], 5, ['a', 'a']].map((topics) => ({ topics })),
  ...['begin', null, {}, { timestamp: 'x' }, { timestamp: -1 }].map((start) => ({ start })),
  { start: { committed: 'none' }, groupId: 'g' },
  { start: { committed: 'earliest' } },
  ...[true, 'earliest', { timestamp: Number.NaN }].map((bounded) => ({ bounded })),
  ...[0, -1, '5min'].map((discoveryIntervalMs) => ({ discoveryIntervalMs })),
  { isolation: 'committed' },
  { groupId: '' },
  { onMalformed: 'drop' },
  { onOutOfRange: 'skip' },
  { partitionMaxBytes: 0 },
  { queuedBytesMax: -1 },
  { maxWaitMs: -1 },
];

const SINK: readonly Wrong[] = [
  ...[undefined, '', 5].map((topic) => ({ topic })),
  ...['key', 'partition', 'headers', 'timestamp'].map((name) => ({ [name]: 'account' })),
  ...[999, '15min', 3e9].map((transactionTimeoutMs) => ({ transactionTimeoutMs })),
  ...['dead', {}, { topic: '' }].map((deadLetter) => ({ deadLetter })),
  { delivery: 'exactly_once' },
  { transactionalIdPrefix: '' },
  { onUnresolvedCommit: 'ignore' },
  { reuseAfterCommits: 0 },
  { compression: 'brotli' },
  { lingerMs: -1 },
  { batchSizeBytes: 0 },
  { bufferBytes: 0.5 },
  { deliveryTimeoutMs: 0 },
];

test('every wrong value of an option is refused with its name and what is allowed', () => {
  for (const wrong of [...BOTH, ...SOURCE])
    refuses(() => source(wrong), new RegExp(`^kafkaSource ${Object.keys(wrong)[0]}: .+`));
  for (const wrong of [...BOTH, ...SINK])
    refuses(() => sink(wrong), new RegExp(`^kafkaSink ${Object.keys(wrong)[0]}: .+`));
});

test('a wrong word is told with the right ones', () => {
  const message =
    'kafkaSink delivery: "exactly_once" is not allowed, give exactly-once, at-least-once or none';
  refuses(() => sink({ delivery: 'exactly_once' }), message);
});

test('an option of another name is no option', () => {
  refuses(
    () => source({ topic: 't' }),
    /^kafkaSource topic: there is no such option; there are .*topics/,
  );
  refuses(() => sink({ acks: 'all' }), /^kafkaSink acks: there is no such option/);
});

test('a login that is not whole is refused, and no password shows', () => {
  const logins = [
    { mechanism: 'plain', username: 'me', password: 'hidden' },
    { mechanism: 'PLAIN', password: 'hidden' },
    { mechanism: 'OAUTHBEARER', password: 'hidden' },
  ];
  for (const sasl of logins)
    for (const make of [source, sink])
      refuses(() => make({ sasl }), /^kafkaS\w+ sasl: what is given is not allowed(?!.*hidden)/);
});

test('a login before a broker is refused with where it goes, and no password shows', () => {
  for (const bootstrap of ['me:hidden@k:9092', 'kafka://me:hidden@k:9092'])
    refuses(() => source({ bootstrap }), /^(?!.*hidden).*"\*\*\*@k:9092" is not .* as sasl$/);
});

test('what is allowed is taken', () => {
  const password = (): string => 'secret';
  source({ topics: ['a', 'b'], start: { timestamp: 0 }, bounded: 'latest', groupId: undefined });
  source({ discoveryIntervalMs: null, start: { committed: 'fail' }, groupId: 'g', tls: {} });
  sink({ sasl: { mechanism: 'SCRAM-SHA-512', username: 'me', password } });
  sink({ sasl: { mechanism: 'OAUTHBEARER', token: password }, deadLetter: { topic: 'dead' } });
  sink({ topic: () => 't', key: () => null, compression: 'zstd', delivery: 'none', lingerMs: 0 });
});
