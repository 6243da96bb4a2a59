/** Event time over partitions of a real broker. */
import assert from 'node:assert/strict';
import { job, monotonousTimestamps, type } from '@weir/core';
import { kafkaSource, text } from '@weir/kafka';
import { clusterAt, createTopic } from './support/clients.ts';
import { fill, numbers, run } from './support/jobs.ts';
import { brokerTest, fresh } from './support/shared-broker.ts';

/** Values are their own event time; each is echoed by a timer of that time. */
function echoes(
  options: { bootstrap: string; topics: string; isBounded: boolean },
  seen: (value: number, watermark: number) => void,
) {
  const { bootstrap, topics, isBounded } = options;
  return job(`echoes ${topics}`, (env) => {
    env
      .fromSource(
        kafkaSource({
          bootstrap,
          topics,
          value: text(),
          ...(isBounded ? { bounded: 'latest' } : {}),
        }),
        { uid: 'in', watermarks: monotonousTimestamps((value: string) => Number(value)) },
      )
      .keyBy(() => 'all')
      .process({
        emits: type<number>(),
        onElement(value, context) {
          seen(Number(value), context.currentWatermark);
          context.timerService.registerEventTimeTimer(Number(value));
        },
        onTimer(time, context) {
          context.emit(time);
        },
      })
      .uid('echo')
      .forEach((time) => seen(time, Number.NaN));
  });
}

brokerTest(
  'more subtasks than partitions hold back no timer, and nothing is late (failure 23)',
  async (broker) => {
    const cluster = clusterAt(broker);
    const topics = fresh('in');
    await createTopic(cluster, topics, 2);
    await fill(cluster, topics, [numbers(1000, 3000), numbers(1000, 1100)]);
    const stop = new AbortController();
    const fired: number[] = [];
    let late = 0;
    const work = echoes(
      { bootstrap: broker.address, topics, isBounded: false },
      (value, watermark) => {
        if (value <= watermark) late++;
        if (!Number.isNaN(watermark)) return;
        fired.push(value);
        if (fired.length === 99) stop.abort();
      },
    );
    await run(work, { parallelism: 5, signal: stop.signal });
    assert.equal(late, 0);
    assert.ok(Math.max(...fired) < 1099, 'the shorter partition holds the others back');
    await cluster.close();
  },
);

brokerTest('of a bounded read no partition makes records of another late', async (broker) => {
  const cluster = clusterAt(broker);
  const topics = fresh('in');
  await createTopic(cluster, topics, 3);
  await fill(cluster, topics, [numbers(1, 20_001), numbers(1, 501), []]);
  let late = 0;
  let fired = 0;
  const work = echoes(
    { bootstrap: broker.address, topics, isBounded: true },
    (value, watermark) => {
      if (value <= watermark) late++;
      if (Number.isNaN(watermark)) fired++;
    },
  );
  const { outcome } = await run(work, { parallelism: 2 });
  assert.equal(outcome.status, 'FINISHED');
  assert.deepEqual([late, fired], [0, 20_000]);
  await cluster.close();
});
