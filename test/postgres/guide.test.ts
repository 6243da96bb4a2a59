/** The job that the guide shows runs as it stands there. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freshJobId } from '../../tools/exactly-once/fresh-job-id.ts';
import { startWeir } from '../../tools/exactly-once/weir-process.ts';
import { codeBlocks } from '../package/code-blocks.ts';
import { fresh, postgresTest } from './support/shared-server.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

postgresTest('the job of the guide writes every order once', async (server) => {
  const page = readFileSync(join(root, 'docs/guide/postgres.md'), 'utf8');
  const block = codeBlocks(page).find(({ title }) => title === 'orders-to-postgres.ts');
  assert.ok(block, 'the guide has a block orders-to-postgres.ts');
  const folder = mkdtempSync(join(tmpdir(), 'weir-guide-'));
  const schema = fresh('guide');
  try {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'orders-to-postgres.ts'), block.text);
    const orders = Array.from({ length: 100 }, (_, id) =>
      JSON.stringify({ id, customer: `c${id % 3}`, amount: id / 100 }),
    );
    writeFileSync(join(folder, 'orders.ndjson'), `${orders.join('\n')}\n`);
    await server.psql(
      `create schema ${schema}; ` +
        `create table ${schema}.orders (id bigint primary key, customer text, cents int)`,
    );
    const database = new URL(server.url);
    database.searchParams.set('options', `-c search_path=${schema}`);
    const words = ['--input', 'orders.ndjson', '--database', database.href];
    const { ended } = startWeir({
      args: ['--job-id', freshJobId(), 'orders-to-postgres.ts', ...words],
      cwd: folder,
      dataDirectory: join(folder, 'data'),
      show: false,
    });
    const { code, output } = await ended;
    assert.equal(code, 0, output);
    assert.match(output, /orders → orders-out .*exactly-once|two.phase commit/);
    const sums = `select count(*), sum(cents), count(distinct customer) from ${schema}.orders`;
    assert.equal(await server.psql(sums), '100|4950|3');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
