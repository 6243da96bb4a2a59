/**
 * The model of a broker answers the same requests as the real one does: scripted sequences, and
 * random ones. Answers that depend on how fast markers are written (51) are asked again on both.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { realClock } from '../../packages/core/src/cluster/real-clock.ts';
import { KafkaCluster } from '../../packages/kafka/src/client/cluster.ts';
import { ModelBroker } from '../../packages/kafka/src/model/model-broker.ts';
import { BatchBuilder } from '../../packages/kafka/src/records/batch-builder.ts';
import { LATEST_TIMESTAMP, LIST_OFFSETS } from '../../packages/kafka/src/wire/offsets.ts';
import { PRODUCE } from '../../packages/kafka/src/wire/produce.ts';
import {
  ADD_PARTITIONS_TO_TXN,
  DESCRIBE_TRANSACTIONS,
  END_TXN,
  INIT_PRODUCER_ID,
} from '../../packages/kafka/src/wire/transactions.ts';
import { clusterAt, createTopic } from './support/clients.ts';
import { brokerTest, fresh } from './support/shared-broker.ts';

/** `holder`: which of two clients of the same transactional id speaks. */
type Call =
  | { readonly do: 'init' | 'add' | 'commit' | 'abort' | 'describe'; readonly holder: 0 | 1 }
  | { readonly do: 'produce'; readonly holder: 0 | 1; readonly skip?: number };

const AGAIN: ReadonlySet<number> = new Set([3, 6, 14, 15, 16, 51]);

/** What a broker answers to the calls, with producer ids by order of appearance. */
class Script {
  readonly transcript: string[] = [];
  readonly #cluster: KafkaCluster;
  readonly #topic: string;
  readonly #transactionalId = fresh('compared');
  readonly #ids: bigint[] = [];
  readonly #holders = [0, 1].map(() => ({ producerId: 999_999n, epoch: 0, sequence: 0 }));

  constructor(cluster: KafkaCluster, topic: string) {
    this.#cluster = cluster;
    this.#topic = topic;
  }

  async run(calls: readonly Call[]): Promise<readonly string[]> {
    for (const call of calls) this.transcript.push(`${call.do} ${await this.#call(call)}`);
    this.transcript.push(`offsets ${await this.#offsets()}`);
    return this.transcript;
  }

  async #call(call: Call): Promise<string> {
    for (;;) {
      const { code, text } = await this.#cluster.retry(() => this.#once(call));
      if (!AGAIN.has(code)) return text;
      this.#cluster.forgetCoordinator('transaction', this.#transactionalId);
      await sleep(15);
    }
  }

  async #once(call: Call): Promise<{ code: number; text: string }> {
    const transactionalId = this.#transactionalId;
    const place = { type: 'transaction', name: transactionalId } as const;
    const holder = this.#holders[call.holder];
    assert.ok(holder);
    const ref = { transactionalId, producerId: holder.producerId, epoch: holder.epoch };
    switch (call.do) {
      case 'init': {
        const request = { transactionalId, timeoutMs: 60_000 };
        const found = await this.#cluster.callCoordinator(place, INIT_PRODUCER_ID, request);
        if (found.errorCode === 0) Object.assign(holder, { ...found, sequence: 0 });
        if (found.errorCode !== 0) return { code: found.errorCode, text: String(found.errorCode) };
        return { code: 0, text: `0 ${this.#label(found.producerId)} epoch ${found.epoch}` };
      }
      case 'add': {
        const topics = [{ topic: this.#topic, partitions: [0] }];
        const request = { ...ref, topics };
        const [found] = await this.#cluster.callCoordinator(place, ADD_PARTITIONS_TO_TXN, request);
        return { code: found?.errorCode ?? -1, text: String(found?.errorCode) };
      }
      case 'commit':
      case 'abort': {
        const request = { ...ref, commit: call.do === 'commit' };
        const { errorCode } = await this.#cluster.callCoordinator(place, END_TXN, request);
        // Until the markers are written, the partition still takes writes of the transaction.
        if (errorCode === 0) await this.#call({ do: 'describe', holder: call.holder });
        return { code: errorCode, text: String(errorCode) };
      }
      case 'describe': {
        const ids = [transactionalId];
        const [found] = await this.#cluster.callCoordinator(place, DESCRIBE_TRANSACTIONS, ids);
        assert.ok(found);
        if (found.errorCode !== 0) return { code: found.errorCode, text: String(found.errorCode) };
        const isPassing = found.state.startsWith('Prepare');
        const text = `${found.state} ${this.#label(found.producerId)} epoch ${found.epoch}`;
        return { code: isPassing ? 51 : 0, text };
      }
      case 'produce':
        return this.#produce(ref, holder, call.skip ?? 0);
    }
  }

  async #produce(
    {
      transactionalId,
      producerId,
      epoch,
    }: { transactionalId: string; producerId: bigint; epoch: number },
    holder: { sequence: number },
    skip: number,
  ): Promise<{ code: number; text: string }> {
    const builder = new BatchBuilder();
    builder.append({ key: null, value: Buffer.from('v'), headers: [], timestamp: Date.now() });
    const baseSequence = holder.sequence + skip;
    const identity = { producerId, epoch, baseSequence, isTransactional: true };
    const records = builder.finish(identity, 'none');
    const leader = await this.#cluster.leaderOf(this.#topic, 0);
    assert.ok(leader);
    const [found] = await this.#cluster.call(leader, PRODUCE, {
      transactionalId,
      acks: -1,
      timeoutMs: 10_000,
      topics: [{ topic: this.#topic, partitions: [{ partition: 0, records }] }],
    });
    const code = found?.errorCode ?? -1;
    if (code === 0) holder.sequence = baseSequence + 1;
    return { code, text: String(code) };
  }

  async #offsets(): Promise<string> {
    const list = async (readCommitted: boolean): Promise<number> => {
      const leader = await this.#cluster.leaderOf(this.#topic, 0);
      assert.ok(leader);
      const request = {
        readCommitted,
        topic: this.#topic,
        timestamp: LATEST_TIMESTAMP,
        partitions: [0],
      };
      return (await this.#cluster.call(leader, LIST_OFFSETS, request))[0]?.offset ?? -1;
    };
    // Markers may still be on their way to the partition.
    await sleep(30);
    return `stable ${await list(true)}, end ${await list(false)}`;
  }

  #label(producerId: bigint): string {
    if (!this.#ids.includes(producerId)) this.#ids.push(producerId);
    return `producer ${this.#ids.indexOf(producerId)}`;
  }
}

function calls(text: string): Call[] {
  return text.split(' ').map((word): Call => {
    const holder = word.endsWith('2') ? 1 : 0;
    const name = word.replace(/2$/, '');
    if (name === 'gap') return { do: 'produce', holder, skip: 5 };
    return { do: name as 'init', holder };
  });
}

const SCRIPTS: readonly string[] = [
  'describe init describe add describe produce produce commit describe commit abort',
  'init commit abort describe',
  'init add produce abort abort commit describe init add produce commit',
  'init produce add produce commit produce',
  'init add produce init2 produce commit describe add2 produce2 commit2 commit',
  'init add gap produce gap abort',
  'init add produce commit add produce commit describe',
  'add commit produce abort describe',
  'init init init describe add init2 describe add2 produce2 abort2 describe',
];

async function compare(cluster: KafkaCluster, sequence: readonly Call[]): Promise<void> {
  const topic = fresh('compared');
  await createTopic(cluster, topic);
  const model = new ModelBroker({ clock: realClock });
  model.createTopic(topic, 1);
  const modelled = new KafkaCluster({
    bootstrap: [{ host: 'model', port: 9092 }],
    environment: { clock: realClock, logger: { log: () => undefined } },
    name: 'model',
    code: 'SINK_UNAVAILABLE',
    connect: model.connect,
    retryForMs: 5000,
  });
  const expected = await new Script(cluster, topic).run(sequence);
  assert.deepEqual(await new Script(modelled, topic).run(sequence), expected);
}

brokerTest('the model of a broker answers scripted calls as the real one does', async (broker) => {
  const cluster = clusterAt(broker);
  for (const script of SCRIPTS) await compare(cluster, calls(script));
  await cluster.close();
});

brokerTest('the model of a broker answers random calls as the real one does', async (broker) => {
  const cluster = clusterAt(broker);
  const call = fc.record(
    {
      do: fc.constantFrom(
        'init',
        'add',
        'add',
        'produce',
        'produce',
        'commit',
        'abort',
        'describe',
      ),
      holder: fc.constantFrom(0, 0, 1),
    },
    { noNullPrototype: true },
  ) as fc.Arbitrary<Call>;
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 3, maxLength: 14 }), (sequence) =>
      compare(cluster, sequence),
    ),
    { numRuns: 25 },
  );
  await cluster.close();
});
