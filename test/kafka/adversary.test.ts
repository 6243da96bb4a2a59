/** The worst that can be done to an exactly-once job: every request cut or its answer lost, brokers
 * and processes killed at the wrong moment, a disk that is full while transactions are open. */
import assert from 'node:assert/strict';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openTransactions } from '../../packages/kafka/src/sink/recover-transactions.ts';
import type { KafkaCluster } from '../../packages/kafka/src/client/cluster.ts';
import { PRODUCE } from '../../packages/kafka/src/wire/produce.ts';
import { completedCheckpoints, kill9 } from '../../tools/exactly-once/weir-process.ts';
import { END_TXN_KEY } from '../../tools/kafka/proxy.ts';
import type { Verdict } from '../../tools/exactly-once/request-proxy.ts';
import { clusterAt } from './support/clients.ts';
import { brokerTest, sharedProxy } from './support/shared-broker.ts';
import { letPass, withTrial } from './support/trial.ts';
import type { Trial } from './support/trial.ts';

const EXACT = { source: 'kafka', mode: 'EXACTLY_ONCE', delivery: 'exactly-once' } as const;
const FETCH_KEY = 1;
const METADATA_KEY = 3;
const FIND_COORDINATOR_KEY = 10;
const INIT_PRODUCER_ID_KEY = 22;
const ADD_PARTITIONS_KEY = 24;

/** Sent again and again, and sent when a process starts. */
const KEYS = {
  always: [PRODUCE.key, FETCH_KEY, INIT_PRODUCER_ID_KEY, ADD_PARTITIONS_KEY, END_TXN_KEY],
  atStart: [METADATA_KEY, FIND_COORDINATOR_KEY],
} as const;

/** Does it to the next request of the kind; resolves when it was done. */
async function doOnce(key: number, verdict: Verdict): Promise<void> {
  const done = Promise.withResolvers<void>();
  let isDone = false;
  sharedProxy().verdict = (seen) => {
    if (seen !== key || isDone) return 'forward';
    isDone = true;
    done.resolve();
    return verdict;
  };
  await done.promise;
}

/** Feeds until the trouble has come. */
async function troubled(trial: Trial, trouble: Promise<void>): Promise<void> {
  let isOver = false;
  void trouble.then(() => (isOver = true));
  while (!isOver) {
    await trial.feed(5);
    await sleep(50);
  }
  letPass();
}

async function allArrives(trial: Trial): Promise<void> {
  await trial.feed(5);
  await trial.written(trial.fed, true);
  assert.equal(await trial.isExact(), true);
}

async function openOf(cluster: KafkaCluster, trial: Trial): Promise<number> {
  return (await openTransactions(cluster, trial.to)).length;
}

brokerTest(
  'whatever request is cut or its answer lost, every result is there once',
  async (broker) => {
    if (!broker.isOwn) return;
    const cluster = clusterAt(broker);
    await withTrial(EXACT, cluster, async (trial) => {
      let weir = trial.start();
      await trial.written(await trial.feed(5), true);
      for (const verdict of ['cut', 'lose-answer'] as const) {
        for (const key of KEYS.always) await troubled(trial, doOnce(key, verdict));
        for (const key of KEYS.atStart) {
          await kill9(weir);
          const trouble = doOnce(key, verdict);
          weir = trial.start();
          await troubled(trial, trouble);
          await trial.written(await trial.feed(5), true);
        }
      }
      await allArrives(trial);
      await kill9(weir);
    });
    await cluster.close();
  },
);

brokerTest(
  'a broker killed while a write or a commit is under way loses nothing',
  async (broker) => {
    if (!broker.isOwn) return;
    const cluster = clusterAt(broker);
    await withTrial(EXACT, cluster, async (trial) => {
      const weir = trial.start();
      await trial.written(await trial.feed(5), true);
      for (const key of [PRODUCE.key, END_TXN_KEY]) {
        const held = doOnce(key, 'hold');
        await trial.feed(5);
        await held;
        await broker.restart('SIGKILL');
        letPass();
        await allArrives(trial);
      }
      await kill9(weir);
    });
    await cluster.close();
  },
);

brokerTest(
  'killed between pre-commit and commit, then the broker, then with other parallelisms: exact',
  async (broker) => {
    if (!broker.isOwn) return;
    const cluster = clusterAt(broker);
    await withTrial(
      EXACT,
      cluster,
      async (trial) => {
        for (const parallelism of ['1', '3', '2']) {
          const weir = trial.start(['-p', parallelism]);
          for (const partition of [0, 1, 2]) await trial.feed(20, partition);
          await trial.written(trial.fed, true);
          const held = doOnce(END_TXN_KEY, 'hold');
          for (const partition of [0, 1, 2]) await trial.feed(20, partition);
          await held;
          await kill9(weir);
          assert.ok((await openOf(cluster, trial)) > 0, 'a commit that did not arrive');
          letPass();
          if (parallelism === '1') await broker.restart('SIGKILL');
        }
        const last = trial.start(['-p', '3']);
        await allArrives(trial);
        await kill9(last);
      },
      3,
    );
    await cluster.close();
  },
);

brokerTest(
  'a checkpoint folder that cannot be written while transactions are open: exact when it can',
  async (broker) => {
    if (!broker.isOwn) return;
    const cluster = clusterAt(broker);
    await withTrial(EXACT, cluster, async (trial) => {
      const weir = trial.start(['-Drestart-strategy.type=none']);
      await trial.written(await trial.feed(5), true);
      // A file in the place of the folder stands for a full disk.
      const folder = join(trial.folder, 'checkpoints');
      renameSync(folder, `${folder}.aside`);
      writeFileSync(folder, '');
      await trial.feed(50);
      const { code, output } = await weir.ended;
      assert.notEqual(code, 0);
      assert.match(output, /checkpoints/);
      rmSync(folder);
      renameSync(`${folder}.aside`, folder);
      const newest = completedCheckpoints(trial.folder).at(-1);
      assert.ok(newest !== undefined && existsSync(folder));
      const again = trial.start();
      await allArrives(trial);
      await kill9(again);
    });
    await cluster.close();
  },
);
