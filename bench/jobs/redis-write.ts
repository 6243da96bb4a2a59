/** Generated orders into Redis by the write-ahead log (bench/rows/redis.ts). */
import { datagen, job } from '@weir/core';
import type { Job } from '@weir/core';
import { redisSink } from '@weir/redis';

export interface Order {
  readonly key: string;
  readonly value: string;
}

export function orderOf(index: number): Order {
  const account = index % 5000;
  const value = `{"id":${index},"account":"account-${account}","amount":${(index % 1000) / 4}}`;
  return { key: `order:${index % 50_000}`, value };
}

const write: Job = job('redis-write', (env) => {
  env.enableCheckpointing('1s');
  env
    .fromSource(datagen({ generator: orderOf, count: env.args.number('count') }), { uid: 'orders' })
    .sinkTo(
      redisSink<Order>({
        connection: env.args.string('redis'),
        commands: ({ key, value }) => ['SET', key, value],
      }),
    )
    .uid('out');
});

export default write;
