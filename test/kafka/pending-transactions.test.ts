/** `weir tx` on a job that was killed between pre-commit and commit. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { END_TXN_KEY } from '../../tools/kafka/proxy.ts';
import { jobIdOf } from '../../packages/core/src/jobmanager/run-state.ts';
import { PRODUCE } from '../../packages/kafka/src/wire/produce.ts';
import { kill9, startWeir } from '../../tools/exactly-once/weir-process.ts';
import { writeOrders } from '../../tools/demo-kafka/orders.ts';
import { openTransactions } from '../../packages/kafka/src/sink/recover-transactions.ts';
import { clusterAt, createTopic } from './support/clients.ts';
import { committedCount, readCommitted } from './support/read-back.ts';
import { brokerTest, fresh, sharedProxy } from './support/shared-broker.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const JOB = join(root, 'examples/kafka-running-totals.ts');
const WEIR = join(root, 'packages/core/bin/weir.js');

const PREFIX = `weir-${jobIdOf('kafka-running-totals')}`;

interface Listed {
  readonly id: string;
  readonly isPromised: boolean;
  readonly status: string;
}

interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function weirTx(words: readonly string[], dataDirectory: string): Promise<Answer> {
  const env = { ...process.env, WEIR_DATA_DIR: dataDirectory };
  return new Promise((resolve) => {
    execFile(process.execPath, [WEIR, 'tx', ...words], { env }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

brokerTest(
  'weir tx commits what the newest checkpoint promises and aborts the rest, never else [R068]',
  async (broker) => {
    if (!broker.isOwn) return;
    const proxy = sharedProxy();
    const folder = mkdtempSync(join(tmpdir(), 'weir-tx-'));
    const cluster = clusterAt(broker);
    try {
      const [orders, totals] = [fresh('orders'), fresh('totals')];
      await createTopic(cluster, orders, 2);
      await createTopic(cluster, totals, 2);
      const words = [JOB, '--bootstrap', `127.0.0.1:${proxy.port}`];
      words.push('--orders', orders, '--totals', totals);
      const start = { cwd: folder, dataDirectory: folder, show: false };
      const weir = startWeir({ args: words, ...start });
      let held = 0;
      proxy.verdict = (key) => {
        if (key === END_TXN_KEY) held++;
        // Without its writes the next checkpoint cannot complete, so it promises nothing.
        return key === END_TXN_KEY || (key === PRODUCE.key && held > 0) ? 'hold' : 'forward';
      };
      await writeOrders(cluster, orders, { count: 3000, partitions: 2 });
      while (held === 0) await sleep(5);
      const running = await weirTx(['list', ...words], folder);
      assert.match(running.stderr, /is running \(process \d+/);
      // Of a checkpoint that cannot complete any more.
      await writeOrders(cluster, orders, { count: 500, partitions: 2 });
      while ((await openTransactions(cluster, PREFIX)).length < 2) await sleep(5);
      await kill9(weir);
      proxy.verdict = () => 'forward';

      const listed = await weirTx(['list', '--json', ...words], folder);
      assert.equal(listed.code, 0, listed.stderr);
      const all = JSON.parse(listed.stdout) as Listed[];
      const promised = all.find((it) => it.isPromised);
      const lingering = all.find((it) => !it.isPromised);
      assert.equal(promised?.status, 'pending');
      assert.equal(lingering?.status, 'Ongoing');

      const wrongCommit = await weirTx(['commit', '--id', lingering.id, ...words], folder);
      assert.match(wrongCommit.stderr, /belongs to no completed checkpoint.*would double/s);
      assert.notEqual(wrongCommit.code, 0);
      const wrongAbort = await weirTx(['abort', '--id', promised.id, ...words], folder);
      assert.match(wrongAbort.stderr, /aborting it would lose their results/);
      assert.match(
        (await weirTx(['commit', ...words], folder)).stdout,
        /1 transaction\(s\) committed/,
      );
      assert.match(
        (await weirTx(['abort', ...words], folder)).stdout,
        /1 transaction\(s\) aborted/,
      );
      const explained = (await weirTx(['explain', ...words], folder)).stdout;
      assert.match(explained, /committed, of checkpoint \d+, \d+ record\(s\)/);

      assert.ok((await committedCount(cluster, totals)) > 0, 'visible without a start of the job');
      const again = startWeir({ args: words, ...start });
      while ((await committedCount(cluster, totals)) < 3500) await sleep(50);
      await kill9(again);
      assert.equal((await readCommitted(broker, cluster, totals)).length, 3500);
    } finally {
      await cluster.close();
      proxy.verdict = () => 'forward';
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
