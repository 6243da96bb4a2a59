/**
 * Redis on loopback: the write-ahead-log sink with atomic confirmations beside the same writes
 * pipelined by hand, a thousand at a time. Starts a server and runs only with `--long`.
 */
import { runJob } from '@weir/core';
import { createClient } from '@redis/client';
import { startRedis } from '../../tools/redis/server.ts';
import type { RedisServer } from '../../tools/redis/server.ts';
import { orderOf } from '../jobs/redis-write.ts';
import { withFolder } from '../support/compare.ts';
import type { Measured, Row } from '../support/row.ts';
import { median } from '../support/row.ts';

/** Much, since what `weir run` needs to start is part of the time. */
const WRITES = 1_000_000;
const KEYS = 50_000;
const ROUNDS = 3;
const PIPELINE = 1000;
const SECOND = 1000;
const JOB = new URL('../jobs/redis-write.ts', import.meta.url);

async function byWeir(server: RedisServer): Promise<number> {
  return withFolder('weir-bench-', async (dataDirectory) => {
    const began = performance.now();
    await runJob(JOB, { args: { redis: server.url, count: WRITES }, dataDirectory });
    return (WRITES / (performance.now() - began)) * SECOND;
  });
}

async function byHand(server: RedisServer): Promise<number> {
  const client = createClient({ url: server.url });
  await client.connect();
  const began = performance.now();
  for (let from = 0; from < WRITES; from += PIPELINE) {
    const pipeline = client.multi();
    for (let index = from; index < from + PIPELINE; index++) {
      const { key, value } = orderOf(index);
      pipeline.set(key, value);
    }
    await pipeline.execAsPipeline();
  }
  const perSecond = (WRITES / (performance.now() - began)) * SECOND;
  await client.close();
  return perSecond;
}

async function measure(): Promise<Measured> {
  const server = await startRedis();
  if (typeof server === 'string') throw new Error(`no Redis: ${server}`);
  const check = async (keys: number): Promise<void> => {
    const found = Number(await server.cli('DBSIZE'));
    const last = await server.cli('GET', orderOf(WRITES - 1).key);
    if (found < keys || last !== orderOf(WRITES - 1).value)
      throw new Error(`wrong answer: ${found} keys, the last is ${last}`);
    await server.cli('FLUSHALL');
  };
  try {
    const [weir, hand]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      hand.push(await byHand(server));
      await check(KEYS);
      weir.push(await byWeir(server));
      await check(KEYS + 1);
    }
    return {
      value: Math.round(median(weir)),
      baseline: Math.round(median(hand)),
      notes: { writes: WRITES, rounds: ROUNDS, interval: '1 s' },
    };
  } finally {
    await server.stop();
  }
}

export const REDIS_ROW: Row = {
  name: 'redis-write-ahead-log',
  title: 'Redis write-ahead log, 1 s, beside pipelined writes by hand',
  unit: 'writes/s',
  compares: 'ratio',
  direction: 'atLeast',
  mustReach: 0.5,
  reachFor: 0.8,
  long: true,
  measure,
};
