/** The jobs that the guide shows run as they stand there. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startWeir } from '../../tools/exactly-once/weir-process.ts';
import { codeBlocks } from '../package/code-blocks.ts';
import { ownRedisTest } from './support/shared-server.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

ownRedisTest('the jobs of the guide write what they say', {}, async (server) => {
  const page = readFileSync(join(root, 'docs/guide/redis.md'), 'utf8');
  const folder = mkdtempSync(join(tmpdir(), 'weir-guide-'));
  try {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    const orders = Array.from({ length: 100 }, (_, id) =>
      JSON.stringify({ id, customer: `c${id % 3}`, amount: id }),
    );
    writeFileSync(join(folder, 'orders.ndjson'), `${orders.join('\n')}\n`);
    for (const name of ['orders-to-redis.ts', 'totals-to-redis.ts']) {
      const block = codeBlocks(page).find(({ title }) => title === name);
      assert.ok(block, `the guide has a block ${name}`);
      writeFileSync(join(folder, name), block.text);
      const { ended } = startWeir({
        args: [name, '--input', 'orders.ndjson', '--redis', server.url],
        cwd: folder,
        dataDirectory: join(folder, 'data'),
        show: false,
      });
      const { code, output } = await ended;
      assert.equal(code, 0, output);
      assert.match(output, /exactly-once/);
    }
    assert.equal(await server.cli('LLEN', 'orders'), '100');
    assert.equal(await server.cli('HGET', 'customer:c0', 'orders'), '34');
    assert.equal(await server.cli('HGETALL', 'total:c1'), 'customer\nc1\ntotal\n1617');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
