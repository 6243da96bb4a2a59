/** The demo's input, and what must come out of it. */
import { realClock } from '../../packages/core/src/cluster/real-clock.ts';
import type { KafkaCluster } from '../../packages/kafka/src/client/cluster.ts';
import { ProduceSession } from '../../packages/kafka/src/sink/produce-session.ts';

export interface Order {
  readonly account: string;
  readonly amount: number;
}

const ACCOUNTS = 5000;

/** The same orders in every run. */
export function* ordersOf(count: number): Generator<Order> {
  let state = 12345;
  for (let index = 0; index < count; index++) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    yield { account: `account-${(state >> 8) % ACCOUNTS}`, amount: (state >> 4) % 1000 };
  }
}

function partitionOf(account: string, partitions: number): number {
  return Number(account.slice('account-'.length)) % partitions;
}

/** All orders of an account go to one partition, so that their order is that of the input. */
export async function writeOrders(
  cluster: KafkaCluster,
  topic: string,
  { count, partitions }: { readonly count: number; readonly partitions: number },
): Promise<void> {
  const settings = {
    acks: -1,
    compression: 'none',
    lingerMs: 5,
    batchSizeBytes: 512 * 1024,
    deliveryTimeoutMs: 60_000,
    requestTimeoutMs: 30_000,
  } as const;
  const identity = { transactionalId: null, producerId: -1n, epoch: -1 };
  const session = new ProduceSession({ cluster, clock: realClock, settings, identity });
  const timestamp = Date.now();
  for (const order of ordersOf(count)) {
    const key = Buffer.from(order.account);
    const value = Buffer.from(JSON.stringify(order));
    const partition = partitionOf(order.account, partitions);
    session.append(topic, partition, { key, value, headers: [], timestamp });
    while (session.bufferedBytes > 16 * 1024 ** 2) await session.acknowledged();
  }
  await session.flush();
}

export interface Comparison {
  readonly results: number;
  readonly lost: number;
  readonly duplicated: number;
  readonly unexpected: number;
  /** Those that stand behind a newer one of their account; says nothing of a table. */
  readonly misplaced: number;
}

/** Holds lines `key<TAB>{"account","n","total"}` against a plain recount of the orders. */
export function compareTotals(lines: readonly string[], count: number): Comparison {
  const expected = new Map<string, number[]>();
  for (const { account, amount } of ordersOf(count)) {
    const totals = expected.get(account) ?? [];
    totals.push((totals.at(-1) ?? 0) + amount);
    expected.set(account, totals);
  }
  const seen = new Map<string, Uint8Array>();
  for (const [account, totals] of expected) seen.set(account, new Uint8Array(totals.length));
  let duplicated = 0;
  let unexpected = 0;
  let misplaced = 0;
  const newest = new Map<string, number>();
  for (const line of lines) {
    const { account, n, total } = JSON.parse(line.slice(line.indexOf('\t') + 1)) as {
      account: string;
      n: number;
      total: number;
    };
    if (n < (newest.get(account) ?? 0)) misplaced++;
    else newest.set(account, n);
    const marks = seen.get(account);
    if (marks === undefined || expected.get(account)?.[n - 1] !== total) unexpected++;
    else if (marks[n - 1] === 1) duplicated++;
    else marks[n - 1] = 1;
  }
  const found = [...seen.values()].flatMap((marks) => marks.reduce((sum, mark) => sum + mark, 0));
  const distinct = found.reduce((sum, one) => sum + one, 0);
  return { results: lines.length, lost: count - distinct, duplicated, unexpected, misplaced };
}
