/** Numbers into a Redis list, paced, for processes that are killed on the way. */
import { datagen, job } from '@weir/core';
import type { Job } from '@weir/core';
import { redisSink } from '@weir/redis';

const push: Job = job('push', (env) => {
  env.enableCheckpointing('150ms');
  const key = env.args.string('key');
  env
    .fromSource(
      datagen({
        generator: (index) => index,
        count: env.args.number('count'),
        rate: env.args.number('rate'),
      }),
      { uid: 'numbers' },
    )
    .sinkTo(
      redisSink<number>({
        connection: env.args.string('redis'),
        confirmation: env.args.string('confirmation') as 'atomic' | 'separate',
        commands: (n) => ['RPUSH', key, n],
        batchSize: 50,
      }),
    )
    .uid('out');
});

export default push;
