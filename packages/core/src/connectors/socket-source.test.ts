import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import test from 'node:test';
import { isWeirError } from '../base/errors.ts';
import { csv } from './formats/csv.ts';
import { lines } from './formats/lines.ts';
import { ndjson } from './formats/ndjson.ts';
import { socketSource } from './socket-source.ts';
import { SourceDriver, testEnvironment } from './test-support.ts';

async function withServer(
  serve: (socket: Socket) => void,
  run: (port: number) => Promise<void>,
): Promise<void> {
  const server: Server = createServer(serve).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await run((server.address() as AddressInfo).port);
  } finally {
    server.close();
  }
}

const HOST = '127.0.0.1';

test('lines are read by one subtask until the server closes the connection', async () => {
  await withServer(
    (socket) => {
      socket.write('a\nbc');
      socket.end('d\nlast');
    },
    async (port) => {
      const source = socketSource({ host: HOST, port, format: lines() });
      assert.equal(source.replay, 'none');
      const driver = new SourceDriver(source, testEnvironment());
      await driver.start(3);
      await driver.finish();
      assert.deepEqual(driver.values, ['a', 'bcd', 'last']);
      assert.deepEqual(driver.snapshot().splits, []);
      await driver.close();
    },
  );
});

test('a fast server is slowed, and loses nothing', async () => {
  const count = 200_000;
  const text = Array.from({ length: count }, (_, index) => `${index}\n`).join('');
  await withServer(
    (socket) => void socket.end(text.repeat(4)),
    async (port) => {
      const source = socketSource({ host: HOST, port, format: ndjson<number>() });
      const driver = new SourceDriver(source, testEnvironment());
      await driver.start();
      await driver.finish(50_000);
      assert.equal(driver.collected.length, 4 * count);
      assert.equal(driver.collected.at(-1)?.value, count - 1);
      await driver.close();
    },
  );
});

test('malformed lines fail with host, port and position, or are counted', async () => {
  await withServer(
    (socket) => void socket.end('1\nx\n3\n'),
    async (port) => {
      const options = { host: HOST, port, format: ndjson<number>() };
      const failing = new SourceDriver(socketSource(options), testEnvironment());
      await failing.start();
      const expected = new RegExp(`127.0.0.1:${port}: the line at byte 2 cannot be read as ndjson`);
      await assert.rejects(failing.finish(), expected);
      await failing.close();
      const skipping = new SourceDriver(
        socketSource({ ...options, onMalformed: 'skip' }),
        testEnvironment(),
      );
      await skipping.start();
      await skipping.finish();
      assert.deepEqual(skipping.values, [1, 3]);
      assert.equal(skipping.counters.counts.get('malformedRecords'), 1);
      await skipping.close();
    },
  );
});

test('a server that is not there is a transient error that names it', async () => {
  let freePort = 0;
  await withServer(
    () => undefined,
    async (port) => void (freePort = port),
  );
  const source = socketSource({ host: HOST, port: freePort, format: lines() });
  const driver = new SourceDriver(source, testEnvironment());
  await driver.start();
  const error: unknown = await driver.finish().catch((reason: unknown) => reason);
  assert.ok(isWeirError(error), String(error));
  assert.equal(error.code, 'SOURCE_UNAVAILABLE');
  assert.equal(error.kind, 'transient');
  assert.match(error.message, new RegExp(`127.0.0.1:${freePort}: .*ECONNREFUSED`));
});

test('a restored reader connects again', async () => {
  await withServer(
    (socket) => void socket.end('again\n'),
    async (port) => {
      const source = socketSource({ host: HOST, port, format: lines() });
      const driver = new SourceDriver(source, testEnvironment());
      await driver.start(2, { enumerator: { isAssigned: true }, splits: [{ id: 'socket' }] });
      await driver.finish();
      assert.deepEqual(driver.values, ['again']);
      await driver.close();
    },
  );
});

test('a format that needs a header line is refused', () => {
  assert.throws(() => socketSource({ host: HOST, port: 1, format: csv() }), /header/);
});
