/** Kafka → map → Kafka, exactly-once, as the rows of `bench/rows/kafka.ts` run it. */
import { isMainThread } from 'node:worker_threads';
import { job } from '@weir/core';
import type { Job } from '@weir/core';
import { bytes, kafkaSink, kafkaSource } from '@weir/kafka';
import { pollute } from '../support/pollute.ts';

if (!isMainThread) await pollute();

/** What the map writes over the first byte of each value, where it is wanted: `w`. */
export const MARK = 119;

const copy: Job = job('kafka-copy', (env) => {
  const { args } = env;
  const bootstrap = args.string('bootstrap');
  const isMarked = args.boolean('mark');
  env.enableCheckpointing(args.number('interval'));
  env
    .fromSource(
      kafkaSource({
        bootstrap,
        topics: args.string('from'),
        value: bytes(),
        ...(args.boolean('bounded') ? { bounded: 'latest' } : {}),
      }),
      { uid: 'in' },
    )
    .map((value) => {
      if (isMarked && value !== null) value[0] = MARK;
      return value;
    })
    .sinkTo(
      kafkaSink({
        bootstrap,
        topic: args.string('to'),
        value: bytes(),
        lingerMs: args.number('linger'),
      }),
    )
    .uid('out');
});

export default copy;
