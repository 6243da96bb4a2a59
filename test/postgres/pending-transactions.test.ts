/** `weir tx` on a job that was killed between PREPARE and COMMIT PREPARED. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { kill9, startWeir } from '../../tools/exactly-once/weir-process.ts';
import { fresh, postgresTest, sharedProxy } from './support/shared-server.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const WEIR = join(root, 'packages/core/bin/weir.js');

const JOB = `
import { datagen, job } from '@weir/core';
import { postgresSink } from '@weir/postgres';

export default job('tx-of-postgres', (env) => {
  env.enableCheckpointing('200ms');
  env
    .fromSource(datagen({ generator: (id) => ({ id }), rate: 2000 }), { uid: 'numbers' })
    .sinkTo(
      postgresSink<{ id: number }>({
        connection: env.args.string('database'),
        table: env.args.string('table'),
        columns: { id: 'id' },
        transactionPrefix: env.args.string('prefix'),
      }),
    )
    .uid('out');
});
`;

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

function weirTx(words: readonly string[], folder: string): Promise<Answer> {
  const env = { ...process.env, WEIR_DATA_DIR: folder };
  return new Promise((resolve) => {
    const options = { env, cwd: folder };
    execFile(process.execPath, [WEIR, 'tx', ...words], options, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

postgresTest(
  'weir tx commits what the newest checkpoint promises and rolls back the rest [R068]',
  async (server) => {
    const proxy = sharedProxy();
    const folder = mkdtempSync(join(tmpdir(), 'weir-tx-'));
    const table = fresh('numbers');
    const prefix = fresh('tx');
    const left = `from pg_prepared_xacts where starts_with(gid, '${prefix}-')`;
    await server.psql(`create table ${table} (id bigint)`);
    const count = (): Promise<string> =>
      server.psql(`select count(*) = count(distinct id), count(*) > 0 from ${table}`);
    const gids = async (): Promise<number> => Number(await server.psql(`select count(*) ${left}`));
    try {
      symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
      writeFileSync(join(folder, 'tx.ts'), JOB);
      const place = ['--database', server.urlAt(proxy.port), '--table', table];
      const words = ['tx.ts', ...place, '--prefix', prefix];
      const start = { args: words, cwd: folder, dataDirectory: folder, show: false };
      let held = 0;
      proxy.verdict = (sql) => {
        if (sql.startsWith('commit prepared')) held++;
        if (held === 0) return 'forward';
        // Prepared, but its checkpoint never hears of it, so it promises nothing.
        if (sql.startsWith('prepare transaction')) return 'lose-answer';
        return sql.startsWith('commit prepared') ? 'hold' : 'forward';
      };
      const weir = startWeir(start);
      while ((await gids()) < 2) {
        if (weir.child.exitCode !== null) assert.fail((await weir.ended).output);
        await sleep(10);
      }
      await kill9(weir);
      proxy.verdict = () => 'forward';
      assert.equal(await server.psql(`select count(*) from ${table}`), '0');

      const listed = await weirTx(['list', '--json', ...words], folder);
      assert.equal(listed.code, 0, listed.stderr);
      const all = JSON.parse(listed.stdout) as Listed[];
      const promised = all.find((it) => it.isPromised);
      const lingering = all.find((it) => !it.isPromised);
      assert.equal(promised?.status, 'pending');
      assert.equal(lingering?.status, 'prepared');

      const wrongCommit = await weirTx(['commit', '--id', lingering.id, ...words], folder);
      assert.match(wrongCommit.stderr, /belongs to no completed checkpoint.*would double/s);
      const wrongAbort = await weirTx(['abort', '--id', promised.id, ...words], folder);
      assert.match(wrongAbort.stderr, /aborting it would lose their results/);
      const committed = await weirTx(['commit', ...words], folder);
      assert.match(committed.stdout, /1 transaction\(s\) committed/);
      const aborted = await weirTx(['abort', ...words], folder);
      assert.match(aborted.stdout, /1 transaction\(s\) aborted/);
      const explained = (await weirTx(['explain', ...words], folder)).stdout;
      assert.match(explained, /committed, of checkpoint \d+, \d+ row\(s\) of numbers_/);
      assert.equal(await gids(), 0);
      assert.equal(await count(), 't|t', 'visible without a start of the job');

      const before = Number(await server.psql(`select count(*) from ${table}`));
      const again = startWeir(start);
      while (Number(await server.psql(`select count(*) from ${table}`)) === before) await sleep(20);
      await kill9(again);
      assert.equal(await count(), 't|t', 'and nothing twice after it');
    } finally {
      rmSync(folder, { recursive: true, force: true });
      // A killed process may have left one more, whose locks nobody else wants.
      const gidsLeft = await server.psql(`select gid ${left}`);
      for (const gid of gidsLeft.split('\n').filter((it) => it !== ''))
        await server.psql(`rollback prepared '${gid}'`);
    }
  },
);

postgresTest(
  'weir tx knows what the snapshot promises that the next start goes on from',
  async (server) => {
    const proxy = sharedProxy();
    const folder = mkdtempSync(join(tmpdir(), 'weir-tx-'));
    const table = fresh('numbers');
    await server.psql(`create table ${table} (id bigint)`);
    const place = ['--database', server.urlAt(proxy.port), '--table', table];
    const words = ['tx.ts', ...place, '--prefix', fresh('tx')];
    let held = 0;
    proxy.verdict = (sql) => {
      if (!sql.startsWith('commit prepared')) return 'forward';
      held++;
      return 'hold';
    };
    /** Killed when a checkpoint is complete and nothing of it is committed. */
    const runAndKill = async (options: readonly string[]): Promise<void> => {
      const [before, args] = [held, [...options, ...words]];
      const weir = startWeir({ args, cwd: folder, dataDirectory: folder, show: false });
      while (held === before) {
        if (weir.child.exitCode !== null) assert.fail((await weir.ended).output);
        await sleep(10);
      }
      await kill9(weir);
    };
    const statusOf = async (): Promise<readonly string[]> => {
      const { stdout, stderr } = await weirTx(['list', '--json', ...words], folder);
      assert.equal(stderr, '');
      const listed = JSON.parse(stdout) as Listed[];
      return listed.filter((it) => it.isPromised).map(({ status }) => status);
    };
    try {
      symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
      writeFileSync(join(folder, 'tx.ts'), JOB);
      await runAndKill([]);
      const [checkpoint = ''] = globSync(join(folder, 'checkpoints/*/chk-*')).toSorted().slice(-1);

      // As if it had been killed between publishing the checkpoint and writing that down.
      const [newest = ''] = globSync(join(folder, 'jobs/*/*.record')).toSorted().slice(-1);
      const record = readFileSync(newest);
      rmSync(newest);
      assert.deepEqual(await statusOf(), ['pending'], 'of a checkpoint that nobody wrote down');
      writeFileSync(newest, record);

      await runAndKill(['-s', checkpoint]);
      assert.deepEqual(await statusOf(), ['pending'], 'of the snapshot that a run began from');
      const aborted = await weirTx(['abort', ...words], folder);
      assert.match(aborted.stdout, /0 transaction\(s\) aborted/);
      proxy.verdict = () => 'forward';
      const committed = await weirTx(['commit', ...words], folder);
      assert.match(committed.stdout, /1 transaction\(s\) committed/);
      assert.deepEqual(await statusOf(), ['committed']);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
