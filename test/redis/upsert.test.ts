/** The upsert sink on a real server: keys, fields, attempts that are cut off. */
import assert from 'node:assert/strict';
import type { SinkWriter, SinkWriterContext } from '@weir/core';
import { OPERATOR_ID } from '../../packages/core/src/connectors/parts/test-support.ts';
import { testCounters } from '../../packages/core/src/connectors/test-support.ts';
import { redisUpsertSink } from '../../packages/redis/src/index.ts';
import type { RedisUpsertSinkOptions } from '../../packages/redis/src/index.ts';
import { freshJobId } from '../../tools/exactly-once/fresh-job-id.ts';
import type { RedisServer } from '../../tools/redis/server.ts';
import { environmentOf } from './support/drive.ts';
import { fresh, redisTest } from './support/shared-server.ts';

interface Total {
  readonly key: string;
  readonly total: number | null;
  readonly note?: string;
}
type Writer = SinkWriter<Total, never, never>;

/** What a writer is, where it is not subtask 0 of the only process. */
interface WriterPlace {
  readonly subtask?: number;
  readonly epoch?: number;
}

/** Writers of one sink; each is a newer attempt. */
function writersOn(server: RedisServer, options: Partial<RedisUpsertSinkOptions<Total>>) {
  const jobId = freshJobId();
  let counter = 0;
  return async ({ subtask = 0, epoch = 1 }: WriterPlace = {}): Promise<Writer> => {
    counter++;
    const sink = redisUpsertSink<Total>({
      connection: server.url,
      key: ({ key }) => key,
      retryForMs: 500,
      ...options,
    });
    const context: SinkWriterContext = {
      ...environmentOf(counter),
      jobId,
      operatorId: OPERATOR_ID,
      subtask,
      parallelism: subtask + 1,
      attempt: { epoch, counter },
      checkpointing: true,
      metrics: testCounters().metrics,
      scheduleHousekeeping: () => undefined,
    };
    const writer = sink.createWriter(context, []);
    await writer.open?.();
    return writer;
  };
}

const NO_TIME = { timestamp: Number.NaN, watermark: -Infinity };

async function write(writer: Writer, ...totals: readonly Total[]): Promise<void> {
  for (const total of totals) writer.write(total, NO_TIME);
  await writer.prepareCommit({ checkpointId: 1, endOfInput: false }).durable;
}

redisTest('the last value of a key is what it holds; null removes it', async (server) => {
  const [a, b] = [fresh('a'), fresh('b')];
  const writer = await writersOn(server, { value: ({ total }) => total, expireAfterMs: 900_000 })();
  await write(writer, { key: a, total: 1 }, { key: b, total: 1 }, { key: a, total: 2 });
  assert.equal(await server.cli('MGET', a, b), '2\n1');
  assert.ok(Number(await server.cli('PTTL', a)) > 800_000);
  await write(writer, { key: b, total: null });
  assert.equal(await server.cli('EXISTS', a, b), '1');
  await writer.close();
});

redisTest('fields of a hash are written together; others stay', async (server) => {
  const key = fresh('hash');
  await server.cli('HSET', key, 'kept', 'x', 'note', 'old');
  const fields = { total: 'total', note: ({ note }: Total) => note } as const;
  const writer = await writersOn(server, { fields })();
  await write(writer, { key, total: 1, note: 'first' }, { key, total: 2 });
  assert.equal(await server.cli('HGETALL', key), 'kept\nx\ntotal\n2');
  await writer.close();
});

redisTest('a key of another type ends the job by its name', async (server) => {
  const [fine, wrong] = [fresh('fine'), fresh('wrong')];
  await server.cli('RPUSH', wrong, 'x');
  const writer = await writersOn(server, { fields: { total: 'total' } })();
  await assert.rejects(
    write(writer, { key: fine, total: 1 }, { key: wrong, total: 1 }),
    new RegExp(`WRONGTYPE: the key ${wrong} holds a list, and a hash is to be written to it`),
  );
  await writer.close();
});

redisTest('an outdated attempt can write no more once its successor is there', async (server) => {
  const key = fresh('total');
  const next = writersOn(server, { value: ({ total }) => total });
  const old = await next();
  await write(old, { key, total: 1 });
  const successor = await next();
  await write(successor, { key, total: 3 });
  await assert.rejects(write(old, { key, total: 2 }), /a newer attempt writes to Redis|not answer/);
  assert.equal(await server.cli('GET', key), '3');
  await write(successor, { key, total: 4 });
  assert.equal(await server.cli('GET', key), '4');
  await old.close();
  await successor.close();
});

redisTest('a new process ends the connections of all subtasks there were', async (server) => {
  const key = fresh('total');
  const next = writersOn(server, { value: ({ total }) => total });
  const old = await next({ subtask: 1 });
  const beside = await next({ subtask: 0 });
  await write(old, { key, total: 1 });
  const successor = await next({ epoch: 2 });
  await write(successor, { key, total: 3 });
  for (const late of [old, beside])
    await assert.rejects(
      write(late, { key, total: 2 }),
      /a newer attempt writes to Redis|not answer/,
    );
  assert.equal(await server.cli('GET', key), '3');
  for (const writer of [old, beside, successor]) await writer.close();
});

redisTest('a connection that breaks is renewed, and the batch written again', async (server) => {
  const key = fresh('total');
  const writer = await writersOn(server, { value: ({ total }) => total, retryForMs: 5000 })();
  await write(writer, { key, total: 1 });
  for (const line of (await server.cli('CLIENT', 'LIST')).split('\n'))
    if (line.includes('name=weir:b'))
      await server.cli('CLIENT', 'KILL', 'ID', /id=(\d+)/.exec(line)![1]!);
  await write(writer, { key, total: 2 });
  assert.equal(await server.cli('GET', key), '2');
  await writer.close();
});
