import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RestServer } from './rest-server.ts';
import type { RestBackend } from './routes.ts';

test('an error of the server is told without the password of an address', async () => {
  const backend = {
    jobs: () => {
      throw new Error('cannot reach redis://u:hidden@host');
    },
    operations: { settled: () => Promise.resolve(), close: () => undefined },
  } as unknown as RestBackend;
  const server = await RestServer.start(backend, 0);
  try {
    const answer = await (await fetch(`http://${server.address}/jobs`)).text();
    assert.match(answer, /Error: cannot reach redis:\/\/u:\*\*\*@host/);
    assert.doesNotMatch(answer, /hidden/);
  } finally {
    await server.close();
  }
});
