/** A broker for a row, and topics filled without the engine. */
import { realClock } from '../../packages/core/src/cluster/real-clock.ts';
import { tcpConnect } from '../../packages/kafka/src/client/broker-connection.ts';
import { KafkaCluster } from '../../packages/kafka/src/client/cluster.ts';
import { ProduceSession } from '../../packages/kafka/src/sink/produce-session.ts';
import { CREATE_TOPICS } from '../../packages/kafka/src/wire/metadata.ts';
import { startBroker } from '../../tools/kafka/broker.ts';
import type { Broker } from '../../tools/kafka/broker.ts';

export async function withBroker<R>(
  measure: (broker: Broker, cluster: KafkaCluster) => Promise<R>,
): Promise<R> {
  const broker = await startBroker();
  if (typeof broker === 'string') throw new Error(`no Kafka broker: ${broker}`);
  const cluster = new KafkaCluster({
    bootstrap: [{ host: broker.host, port: broker.port }],
    environment: { clock: realClock, logger: { log: () => undefined } },
    name: 'bench',
    code: 'SINK_UNAVAILABLE',
    retryForMs: 30_000,
    connect: tcpConnect({ clientId: 'bench', connectTimeoutMs: 5000, requestTimeoutMs: 30_000 }),
  });
  try {
    return await measure(broker, cluster);
  } finally {
    await cluster.close();
    await broker.stop();
  }
}

export async function createTopic(cluster: KafkaCluster, name: string): Promise<void> {
  const topic = { name, partitions: 1 };
  await cluster.retry(() => cluster.callAny(CREATE_TOPICS, [topic]));
  await cluster.refreshTopic(name);
}

/** Writes without transactions; `lingerMs` 0: each record at once. */
export function plainSession(cluster: KafkaCluster, lingerMs: number): ProduceSession {
  return new ProduceSession({
    cluster,
    clock: realClock,
    settings: {
      acks: -1,
      compression: 'none',
      lingerMs,
      batchSizeBytes: 256 * 1024,
      deliveryTimeoutMs: 60_000,
      requestTimeoutMs: 30_000,
    },
    identity: { transactionalId: null, producerId: -1n, epoch: -1 },
  });
}

export async function fill(
  cluster: KafkaCluster,
  topic: string,
  { count, valueBytes }: { readonly count: number; readonly valueBytes: number },
): Promise<void> {
  const session = plainSession(cluster, 5);
  const value = Buffer.alloc(valueBytes, 'v');
  const record = { key: null, value, headers: [], timestamp: Date.now() };
  for (let index = 0; index < count; index++) {
    session.append(topic, 0, record);
    if (session.bufferedBytes > 16 * 1024 ** 2) await session.acknowledged();
  }
  await session.flush();
}
