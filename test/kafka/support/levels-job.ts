/** A job between the ends that its arguments name: kills prove what the planner says of it. */
import { job, lines, socketSource, type } from '@weir/core';
import type { Job } from '@weir/core';
import { kafkaSink, kafkaSource, text } from '@weir/kafka';

export type Delivery = 'none' | 'at-least-once' | 'exactly-once';

const levels: Job = job('levels', (env) => {
  const { args } = env;
  const bootstrap = args.string('bootstrap');
  const from = args.string('from');
  const to = args.string('to');
  const port = args.integer('socket', null);
  const source =
    port === null
      ? env.fromSource(
          kafkaSource({
            bootstrap,
            topics: from,
            value: text(),
            ...(args.boolean('bounded') ? { bounded: 'latest' } : {}),
          }),
          { uid: 'in' },
        )
      : env.fromSource(socketSource({ host: '127.0.0.1', port, format: lines() }), { uid: 'in' });
  // Values that block a subtask, so that its barrier comes late.
  const slowed = source.map((value) => {
    if (value.startsWith('slow')) Atomics.wait(IDLE, 0, 0, SLOW_MS);
    return value;
  });
  const middle = args.boolean('timers')
    ? slowed
        .keyBy(() => 'all')
        .process({
          emits: type<string>(),
          onElement(_value, context) {
            context.timerService.registerProcessingTimeTimer(
              context.timerService.currentProcessingTime + TIMER_MS,
            );
          },
          onTimer(timestamp, context) {
            context.emit(String(timestamp));
          },
        })
        .uid('timers')
    : args.boolean('shuffle')
      ? slowed.rebalance()
      : slowed;
  middle
    .sinkTo(
      kafkaSink({
        bootstrap,
        topic: to,
        value: text(),
        delivery: args.string('delivery') as Delivery,
        transactionalIdPrefix: to,
        lingerMs: 0,
      }),
    )
    .uid('out');
});

const IDLE = new Int32Array(new SharedArrayBuffer(4));
export const SLOW_MS = 600;
export const TIMER_MS = 700;

export default levels;
