/** Records stay in order from one transaction to the next, each of which has its own producer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Connect } from '../client/broker-connection.ts';
import {
  barrier,
  committerOf,
  newWorld,
  openWriter,
  sinkOf,
  visible,
  write,
} from '../model/sink-fixture.ts';
import type { World } from '../model/sink-fixture.ts';

const SETTLE_TURNS = 50;

/** Whatever can go on without the model's clock does. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < SETTLE_TURNS; turn++)
    await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Connections that keep the first write to themselves until it is released. */
function slowFirstWrite({ broker }: World): { connect: Connect; release: () => void } {
  const held = Promise.withResolvers<void>();
  let isFirst = true;
  const connect: Connect = async (host, port) => {
    const connection = await broker.connect(host, port);
    return {
      ...connection,
      isOpen: true,
      call: async (api, request) => {
        if (api.name === 'Produce' && isFirst) {
          isFirst = false;
          await held.promise;
        }
        return connection.call(api, request);
      },
    };
  };
  return { connect, release: held.resolve };
}

test('a transaction is written after the one before it, however slow that is', async () => {
  const world = newWorld();
  const { connect, release } = slowFirstWrite(world);
  const sink = sinkOf(world, { batchSizeBytes: 1024 }, connect);
  const writer = await openWriter(world, sink);
  await write(writer, 'first');
  const first = barrier(writer, 1);
  await write(writer, 'second');
  const second = barrier(writer, 2);
  await settle();
  release();
  const committables = [...(await first), ...(await second)];
  const committer = committerOf(world, sink);
  await committer.commit(committables);
  assert.deepEqual(visible(world), ['first', 'second']);
});

test('what an earlier transaction still has to write counts for the buffer', async () => {
  const world = newWorld();
  const { connect, release } = slowFirstWrite(world);
  const sink = sinkOf(world, { batchSizeBytes: 1024, bufferBytes: 4096 }, connect);
  const writer = await openWriter(world, sink);
  await write(writer, 'a'.repeat(3000));
  const first = barrier(writer, 1);
  await write(writer, 'b'.repeat(3000));
  assert.equal(writer.isWritable, false);
  const writable = writer.whenWritable?.();
  release();
  await writable;
  assert.equal(writer.isWritable, true);
  await first;
  await barrier(writer, 2);
  await writer.close();
});

test('a failed transaction fails the one after it, and closing waits for neither', async () => {
  const world = newWorld();
  const { connect, release } = slowFirstWrite(world);
  const writer = await openWriter(world, sinkOf(world, {}, connect));
  await write(writer, 'first');
  const first = barrier(writer, 1);
  await write(writer, 'second');
  const second = barrier(writer, 2);
  await settle();
  world.broker.deleteTopic('out');
  release();
  await assert.rejects(first, /out/);
  await assert.rejects(second, /out/);

  const other = newWorld();
  const stuck = await openWriter(other, sinkOf(other, {}, slowFirstWrite(other).connect));
  await write(stuck, 'first');
  const never = barrier(stuck, 1);
  never.catch(() => undefined);
  await write(stuck, 'second');
  await settle();
  await stuck.close();
  assert.deepEqual(visible(other), []);
});
