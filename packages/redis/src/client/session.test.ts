import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { test } from 'node:test';
import type { Clock } from '@weir/core';
import { RedisError } from './redis-errors.ts';
import { RedisSession } from './session.ts';

/** Nobody waits long enough here for a limit to come. */
const clock = { schedule: () => ({ cancel: () => undefined }) } as unknown as Clock;

/** A session with a server that answers each piece of data as it is told. */
async function withServer(
  answer: (socket: Socket, data: string) => void,
  use: (open: (cut?: AbortSignal) => Promise<RedisSession>) => Promise<void>,
): Promise<void> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => answer(socket, data.toString()));
    answer(socket, '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const open = (cut: AbortSignal = new AbortController().signal): Promise<RedisSession> =>
    RedisSession.open(
      {
        host: '127.0.0.1',
        port,
        database: 2,
        username: 'me',
        password: () => Promise.resolve('s3cret'),
        tls: null,
        place: 'there',
        connectTimeoutMs: 1000,
        requestTimeoutMs: 1000,
      },
      { clock, name: 'test', cut },
    );
  try {
    await use(open);
  } finally {
    server.close();
  }
}

/** One reply for each command. */
function okTo(data: string): string {
  return '+OK\r\n'.repeat(data.match(/^\*/gm)?.length ?? 0);
}

test('a session logs in, chooses its database and says its name before anything else', async () => {
  const seen: string[] = [];
  await withServer(
    (socket, data) => {
      if (data === '') return;
      seen.push(...data.split('\r\n').filter((line) => /^[A-Za-z0-9]/.test(line)));
      socket.write(okTo(data));
    },
    async (open) => {
      const session = await open();
      assert.deepEqual(await session.send('asking', [['PING', 'é'], ['PING']]), ['OK', 'OK']);
      await session.close();
    },
  );
  assert.equal(seen.join(' '), 'AUTH me s3cret SELECT 2 CLIENT SETNAME test PING PING');
});

test('the reason of a server that turns a connection away is told', async () => {
  await withServer(
    (socket, data) => {
      if (data === '') socket.end('-ERR max number of clients reached\r\n');
    },
    async (open) => {
      await assert.rejects(open(), (error: unknown) => {
        assert.ok(error instanceof RedisError && error.isTransient);
        assert.match(
          error.message,
          /there refuses connecting: no connection is left; .*\(it says: ERR max number of clients/,
        );
        return true;
      });
    },
  );
});

test('a connection that ends leaves what waits without an answer, and stays broken', async () => {
  await withServer(
    (socket, data) => {
      if (data.includes('GET')) socket.end();
      else if (data !== '') socket.write(okTo(data));
    },
    async (open) => {
      const session = await open();
      const asked = [session.send('one', [['GET', 'a']]), session.send('two', [['GET', 'b']])];
      for (const outcome of await Promise.allSettled(asked)) {
        assert.ok(outcome.status === 'rejected');
        assert.match(String(outcome.reason), /does not answer (one|two): the server closed/);
        assert.equal((outcome.reason as RedisError).reply, null);
      }
      assert.equal(session.isBroken, true);
      await assert.rejects(session.send('three', [['PING']]), /does not answer three/);
    },
  );
});

test('a connection that is cut leaves what waits without an answer', async () => {
  await withServer(
    (socket, data) => {
      if (!data.includes('GET') && data !== '') socket.write(okTo(data));
    },
    async (open) => {
      const cutting = new AbortController();
      const session = await open(cutting.signal);
      const asked = session.send('reading', [['GET', 'a']]);
      cutting.abort();
      await assert.rejects(asked, /does not answer reading: the connection was closed/);
      assert.equal(session.isBroken, true);
    },
  );
});

test('a refusal fails its own pipeline, and the others go on', async () => {
  await withServer(
    (socket, data) => {
      if (data.includes('BAD')) socket.write('+OK\r\n-WRONGTYPE no\r\n+OK\r\n+PONG\r\n');
      else if (!data.includes('PING') && data !== '') socket.write(okTo(data));
    },
    async (open) => {
      const session = await open();
      const bad = session.send('writing', [['SET'], ['BAD'], ['SET']]);
      const good = session.send('asking', [['PING']]);
      await assert.rejects(
        bad,
        /refuses writing: a key holds another type; write to another key, .*WRONGTYPE no\)$/,
      );
      assert.deepEqual(await good, ['PONG']);
      session.destroy();
    },
  );
});
