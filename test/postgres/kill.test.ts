/** Processes that upsert into PostgreSQL and are killed with SIGKILL; read back with psql. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freshJobId } from '../../tools/exactly-once/fresh-job-id.ts';
import {
  completedCheckpoints,
  kill9,
  newCheckpoint,
  startWeir,
} from '../../tools/exactly-once/weir-process.ts';
import { fresh, postgresTest } from './support/shared-server.ts';
import { KEYS } from './support/totals-job.ts';

const JOB = fileURLToPath(new URL('./support/totals-job.ts', import.meta.url));
const COUNT = 4000;
const KILLS = 3;

postgresTest('killed three times, the upsert sink ends with the right sums', async (server) => {
  const table = fresh('totals');
  await server.psql(`create table ${table} (key text primary key, total bigint)`);
  const folder = mkdtempSync(join(tmpdir(), 'weir-postgres-kill-'));
  const dataDirectory = join(folder, 'data');
  const place = ['--database', server.url, '--table', table];
  const numbers = ['--count', `${COUNT}`, '--rate', '1500'];
  const args = ['-p', '2', '--job-id', freshJobId(), JOB, ...place, ...numbers];
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      const weir = startWeir({ args, cwd: folder, dataDirectory, show: false });
      const before = completedCheckpoints(dataDirectory).at(-1) ?? 0;
      const checkpoint = await newCheckpoint(weir, dataDirectory, before);
      // Sums are written meanwhile that no checkpoint has.
      await sleep(100);
      assert.ok((await kill9(weir)) && checkpoint !== null, 'the job ended too early');
    }
    const { code, output } = await startWeir({ args, cwd: folder, dataDirectory, show: false })
      .ended;
    assert.equal(code, 0, output);
    const expected = Array.from({ length: KEYS }, (_, key) => {
      let total = 0;
      for (let n = key; n < COUNT; n += KEYS) total += n;
      return `k${key}|${total}`;
    });
    const found = await server.psql(`select key, total from ${table} order by key`);
    assert.equal(found, expected.join('\n'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
