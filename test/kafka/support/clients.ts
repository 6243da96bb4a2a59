/** Clients of the package under test, as tests use them: on the real clock, with short patience. */
import { realClock } from '../../../packages/core/src/cluster/real-clock.ts';
import { tcpConnect } from '../../../packages/kafka/src/client/broker-connection.ts';
import type { Security } from '../../../packages/kafka/src/security.ts';
import { KafkaCluster } from '../../../packages/kafka/src/client/cluster.ts';
import { CREATE_TOPICS } from '../../../packages/kafka/src/wire/metadata.ts';
import type { Broker } from '../../../tools/kafka/broker.ts';

export function clusterAt(broker: Broker, security: Security = {}): KafkaCluster {
  return new KafkaCluster({
    bootstrap: [{ host: broker.host, port: broker.port }],
    environment: { clock: realClock, logger: { log: () => undefined } },
    name: 'test',
    code: 'SINK_UNAVAILABLE',
    retryForMs: 20_000,
    connect: tcpConnect({
      clientId: 'weir-test',
      connectTimeoutMs: 5000,
      requestTimeoutMs: 10_000,
      ...security,
    }),
  });
}

export async function createTopic(
  cluster: KafkaCluster,
  name: string,
  partitions = 1,
  configs: Readonly<Record<string, string>> = {},
): Promise<void> {
  const [result] = await cluster.callAny(CREATE_TOPICS, [{ name, partitions, configs }]);
  if (result?.errorCode !== 0)
    throw new Error(`topic ${name}: ${result?.errorCode} ${result?.message}`);
  await cluster.refreshTopic(name);
}
