/**
 * What a cluster says of itself before a run: how long transactions may be open, how long records
 * are kept. One try, of a few seconds: a broker that is away is met again by the run.
 */
import type { ConnectorEnvironment, SinkOuterFacts, SourceOuterFacts } from '@weir/core';
import { asSinkErrors } from './client/kafka-errors.ts';
import type { KafkaCluster } from './client/cluster.ts';
import type { ClusterFactory } from './connection-options.ts';
import { MAX_TIMEOUT_KEY, maxTimeoutMs, tooLong } from './sink/begin-transaction.ts';
import { NONE } from './wire/error-codes.ts';
import { DESCRIBE_CONFIGS } from './wire/metadata.ts';

const CONNECT_LIMIT_MS = 2000;

/** Rejects when the broker will refuse the time-out. */
export function askAboutTransactions(
  factory: ClusterFactory,
  environment: ConnectorEnvironment,
  timeoutMs: number,
): Promise<SinkOuterFacts> {
  return asSinkErrors(() =>
    withCluster(factory, environment, async (cluster) => {
      const maxMs = await maxTimeoutMs(cluster);
      if (maxMs !== null && timeoutMs > maxMs) throw tooLong(timeoutMs, maxMs);
      return { transactionTimeoutMaxMs: maxMs, transactionTimeoutMaxName: MAX_TIMEOUT_KEY };
    }),
  );
}

/** The shortest retention of the topics. */
export function askAboutRetention(
  factory: ClusterFactory,
  environment: ConnectorEnvironment,
  topics: readonly string[],
): Promise<SourceOuterFacts> {
  return withCluster(factory, environment, async (cluster) => {
    let shortest: { readonly topic: string; readonly ms: number } | null = null;
    for (const topic of topics) {
      const ms = await retentionMs(cluster, topic).catch(() => null);
      if (ms !== null && ms < (shortest?.ms ?? Infinity)) shortest = { topic, ms };
    }
    const retentionName = `retention.ms of topic ${shortest?.topic ?? topics.join(', ')}`;
    return { retentionMs: shortest?.ms ?? null, retentionName };
  });
}

/** `null`: for ever, or the client may not ask. */
async function retentionMs(cluster: KafkaCluster, topic: string): Promise<number | null> {
  const request = { of: { topic }, names: ['retention.ms', 'cleanup.policy'] };
  const { errorCode, entries } = await cluster.callAny(DESCRIBE_CONFIGS, request);
  const valueOf = (name: string): string => entries.find((it) => it.name === name)?.value ?? '';
  const ms = Number(valueOf('retention.ms'));
  // A topic that is compacted alone keeps the last record of each key for ever.
  if (errorCode !== NONE || !valueOf('cleanup.policy').includes('delete')) return null;
  return ms > 0 ? ms : null;
}

async function withCluster<R>(
  factory: ClusterFactory,
  environment: ConnectorEnvironment,
  ask: (cluster: KafkaCluster) => Promise<R>,
): Promise<R> {
  const cluster = factory.open(environment, { connectTimeoutMaxMs: CONNECT_LIMIT_MS });
  try {
    return await ask(cluster);
  } finally {
    await cluster.close();
  }
}
