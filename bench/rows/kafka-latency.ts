/**
 * How long a result of an exactly-once job stays unseen beyond the checkpoint interval. The job
 * runs as `weir run` runs it: on a thread of its own, with its checkpoints synced to disk.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { job, runJob } from '@weir/core';
import { kafkaSource, text } from '@weir/kafka';
import type { KafkaCluster } from '../../packages/kafka/src/client/cluster.ts';
import { withFolder } from '../support/compare.ts';
import { createTopic, plainSession, withBroker } from '../support/kafka.ts';
import type { Measured, Row } from '../support/row.ts';
import { percentile } from '../support/row.ts';

const JOB = new URL('../jobs/kafka-copy.ts', import.meta.url);
const INTERVAL_MS = 200;
const RECORDS = 4000;
/** Until then code is compiled. */
const WARM_UP = 1000;

function measure(): Promise<Measured> {
  return withBroker((broker, cluster) =>
    withFolder('weir-bench-', async (dataDirectory) => {
      for (const topic of ['asked', 'answered']) await createTopic(cluster, topic);
      const { address: bootstrap } = broker;
      const stop = new AbortController();
      const late: number[] = [];
      const durations: number[] = [];
      const reader = job('bench-latency-reader', (env) => {
        env
          .fromSource(kafkaSource({ bootstrap, topics: 'answered', value: text() }), { uid: 'in' })
          .forEach((sentAt) => {
            late.push(performance.now() - Number(sentAt) - INTERVAL_MS);
            if (late.length === RECORDS) stop.abort();
          });
      });
      const copying = runJob(JOB, {
        args: { bootstrap, from: 'asked', to: 'answered', interval: INTERVAL_MS, linger: 1 },
        dataDirectory,
        signal: stop.signal,
        onEvent: (event) => {
          if (event.type === 'checkpointCompleted') durations.push(event.durationMs);
        },
      });
      const reading = runJob(reader, { signal: stop.signal });
      await writePaced(cluster, 'asked');
      await Promise.all([copying, reading]);
      const settled = late.slice(WARM_UP);
      const at = (share: number): number => Math.round(percentile(settled, share));
      return {
        value: at(0.99),
        baseline: null,
        notes: {
          p50: at(0.5),
          p90: at(0.9),
          max: at(1),
          records: settled.length,
          interval: `${INTERVAL_MS} ms`,
          checkpointP99: Math.round(percentile(durations, 0.99)),
        },
      };
    }),
  );
}

/** One record each 5 ms with the time at which it is written. */
async function writePaced(cluster: KafkaCluster, topic: string): Promise<void> {
  const session = plainSession(cluster, 0);
  for (let index = 0; index < RECORDS; index++) {
    const value = Buffer.from(String(performance.now()));
    session.append(topic, 0, { key: null, value, headers: [], timestamp: Date.now() });
    await sleep(5);
  }
  await session.flush();
}

export const KAFKA_LATENCY_ROW: Row = {
  name: 'kafka-latency',
  title: 'committed result after its record, beyond the checkpoint interval, p99',
  unit: 'ms',
  compares: 'value',
  direction: 'atMost',
  mustReach: 100,
  reachFor: 30,
  long: true,
  measure,
};
