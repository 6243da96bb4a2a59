import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../packages/core/src/base/random.ts';
import { place } from './weir.ts';
import { assertExact, checkpointAfter, newestCheckpoint, someText, startWords } from './words.ts';

const RESUMES = /resumes from checkpoint (\d+)/;

test('a run killed after a checkpoint resumes from it at another parallelism', async (t) => {
  const at = place(t);
  at.write('input.txt', someText(2500));
  for (const parallelism of [2, 3, 1]) {
    const before = newestCheckpoint(at);
    const weir = startWords(at, { parallelism, rate: 2000 });
    await checkpointAfter(at, weir, before);
    const { signal, output } = await weir.kill();
    assert.equal(signal, 'SIGKILL');
    if (before > 0) {
      const resumed = Number(RESUMES.exec(output)?.[1]);
      assert.ok(resumed >= before, output);
      assert.match(output, /lines at .*input\.txt at byte \d+/);
    }
  }
  const { code, output } = await startWords(at, { rate: 2000 }).ended;
  assert.equal(code, 0, output);
  assert.match(output, RESUMES);
  assertExact(at);
});

test('thirty kills at random moments, also during recovery, lose and repeat nothing', async (t) => {
  const at = place(t);
  const seed = 7;
  const random = seededRandom(seed);
  at.write('input.txt', someText(4000, seed));
  // Moments reach from the start of the process to some checkpoints, however busy the machine is.
  const startedAt = performance.now();
  const first = startWords(at, { rate: 1500 });
  await checkpointAfter(at, first, 0);
  await first.kill();
  const toCheckpointMs = performance.now() - startedAt;
  let resumes = 0;
  for (let kills = 1; ; kills++) {
    const weir = startWords(at, { parallelism: 1 + random.int(3), rate: 1500 });
    // After the last kill the run goes on to its end.
    if (kills < 30) {
      await Promise.race([sleep(random.next() * 1.5 * toCheckpointMs), weir.ended]);
      weir.child.kill('SIGKILL');
    }
    const { code, output } = await weir.ended;
    if (RESUMES.test(output)) resumes++;
    if (code === null) continue;
    assert.equal(code, 0, `seed ${seed}: ${output}`);
    break;
  }
  assertExact(at);
  assert.ok(resumes >= 5, `only ${resumes} runs came to resume`);
});
