import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { test } from 'node:test';
import { connectionTrouble } from './connection-trouble.ts';

test('a port where nothing listens is told in words, with what Node says behind', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const [error] = await once(connect({ host: '127.0.0.1', port }), 'error');
  assert.deepEqual(connectionTrouble(error), {
    text:
      'nothing listens there; start the server, or correct host and port ' +
      `(connect ECONNREFUSED 127.0.0.1:${port})`,
    isFinal: false,
  });
});

test('a server without TLS is no passing trouble', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end('-ERR unknown command\r\n');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const [error] = await once(connectTls({ host: '127.0.0.1', port }), 'error');
  server.close();
  const { text, isFinal } = connectionTrouble(error);
  assert.match(text, /^it speaks no TLS on this port; leave TLS out/);
  assert.equal(isFinal, true);
});

test('an error that gathers those of all addresses tells them all', () => {
  const refused = (address: string): Error =>
    Object.assign(new Error(`connect ECONNREFUSED ${address}`), { code: 'ECONNREFUSED' });
  const { text } = connectionTrouble(
    new AggregateError([refused('::1:5'), refused('127.0.0.1:5')]),
  );
  assert.match(text, /^nothing listens there; .* ::1:5, connect ECONNREFUSED 127\.0\.0\.1:5\)$/);
});

test('what is not known is told as it is', () => {
  assert.deepEqual(connectionTrouble(new Error('no answer for 5 ms')), {
    text: 'no answer for 5 ms',
    isFinal: false,
  });
});
