/** Processes that write into Redis and are killed with SIGKILL; read back with redis-cli. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freshJobId } from '../../tools/exactly-once/fresh-job-id.ts';
import {
  completedCheckpoints,
  kill9,
  newCheckpoint,
  startWeir,
} from '../../tools/exactly-once/weir-process.ts';
import { fresh, redisTest } from './support/shared-server.ts';

const JOB = fileURLToPath(new URL('./support/push-job.ts', import.meta.url));
const COUNT = 3000;
const KILLS = 3;

for (const confirmation of ['atomic', 'separate'] as const)
  redisTest(
    `killed three times, ${confirmation} confirmation: nothing is lost` +
      (confirmation === 'atomic' ? ', nothing is there twice' : ''),
    async (server) => {
      const key = fresh('killed');
      const folder = mkdtempSync(join(tmpdir(), 'weir-redis-kill-'));
      const dataDirectory = join(folder, 'data');
      const place = ['--redis', server.url, '--key', key, '--confirmation', confirmation];
      const numbers = ['--count', `${COUNT}`, '--rate', '1500'];
      const args = ['-p', '2', '--job-id', freshJobId(), JOB, ...place, ...numbers];
      try {
        for (let kill = 0; kill < KILLS; kill++) {
          const weir = startWeir({ args, cwd: folder, dataDirectory, show: false });
          const before = completedCheckpoints(dataDirectory).at(-1) ?? 0;
          const checkpoint = await newCheckpoint(weir, dataDirectory, before);
          // The moment when its results are being written.
          assert.ok((await kill9(weir)) && checkpoint !== null, 'the job ended too early');
        }
        const { code, output } = await startWeir({ args, cwd: folder, dataDirectory, show: false })
          .ended;
        assert.equal(code, 0, output);
        const found = (await server.cli('LRANGE', key, '0', '-1')).split('\n').map(Number);
        assert.equal(new Set(found).size, COUNT, 'none is missing');
        if (confirmation === 'atomic') assert.equal(found.length, COUNT, 'none is there twice');
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );
