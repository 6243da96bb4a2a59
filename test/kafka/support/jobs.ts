/** Jobs over Kafka, run in the present thread, and topics filled without the engine. */
import { runJob } from '@weir/core';
import type { ConfigSettings, Job, RunEvent, RunJobOptions, RunOutcome } from '@weir/core';
import { realClock } from '../../../packages/core/src/cluster/real-clock.ts';
import type { KafkaCluster } from '../../../packages/kafka/src/client/cluster.ts';
import type { Compression } from '../../../packages/kafka/src/records/compression.ts';
import { ProduceSession } from '../../../packages/kafka/src/sink/produce-session.ts';

const QUICK: ConfigSettings = {
  'execution.checkpointing.interval': 100,
  'restart-strategy.type': 'fixed-delay',
  'restart-strategy.fixed-delay.attempts': 20,
  'restart-strategy.fixed-delay.delay': 100,
};

export interface TestRun {
  readonly outcome: RunOutcome;
  readonly events: readonly RunEvent[];
}

export async function run(job: Job, options: RunJobOptions = {}): Promise<TestRun> {
  const events: RunEvent[] = [];
  const outcome = await runJob(job, {
    ...options,
    config: { ...QUICK, ...options.config },
    onEvent: (event) => {
      events.push(event);
      options.onEvent?.(event);
    },
  });
  return { outcome, events };
}

/** Writes `values[partition]` into each partition, without keys and without transactions. */
export async function fill(
  cluster: KafkaCluster,
  topic: string,
  values: readonly (readonly string[])[],
  compression: Compression = 'none',
): Promise<void> {
  const session = new ProduceSession({
    cluster,
    clock: realClock,
    settings: {
      acks: -1,
      compression,
      lingerMs: 5,
      batchSizeBytes: 64 * 1024,
      deliveryTimeoutMs: 20_000,
      requestTimeoutMs: 10_000,
    },
    identity: { transactionalId: null, producerId: -1n, epoch: -1 },
  });
  const timestamp = Date.now();
  for (const [partition, list] of values.entries())
    for (const value of list)
      session.append(topic, partition, {
        key: null,
        value: Buffer.from(value),
        headers: [],
        timestamp,
      });
  await session.flush();
}

export function numbers(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, index) => String(from + index));
}
