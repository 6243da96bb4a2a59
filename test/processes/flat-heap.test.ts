/**
 * Memory stays flat however long a job runs: ten million records go through a fast source and a
 * slow sink on two threads, with checkpoints, in a process of their own. Each thread and the main
 * one say, right after a garbage collection, how much they hold: objects and what hangs on them.
 * Code is left out, since it grows for a while whenever another function turns out to be hot; so
 * only the longest time without a module loaded counts, of which a busy thread loads some late.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

const RECORDS = 10_000_000;
/** Growth over the whole run, as a share of what is held. */
const GROWTH_MAX = 0.01;
/** Until then code is compiled and buffers find their sizes. */
const WARM_UP = 0.3;

const ENGINE = pathToFileURL(join(import.meta.dirname, '../../packages/core/src/index.ts')).href;

const HELD = `
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';

function held() {
  globalThis.gc();
  const spaces = getHeapSpaceStatistics().filter(({ space_name }) =>
    ['new_space', 'old_space', 'large_object_space'].includes(space_name),
  );
  const objects = spaces.reduce((sum, { space_used_size }) => sum + space_used_size, 0);
  return [process.moduleLoadList.length, objects + getHeapStatistics().external_memory].join(' ');
}
`;

const JOB = `${HELD}
import { datagen, job } from '@weir/core';

/** Takes a thousand records, then none for a millisecond or so. */
const slowSink = {
  name: 'Slow',
  write: 'plain',
  createWriter({ subtask }) {
    let room = 1000;
    let written = 0;
    return {
      write() {
        room--;
        if (++written % 50_000 === 0) console.log('held', subtask, held());
      },
      get isWritable() {
        return room > 0;
      },
      whenWritable: () =>
        new Promise((resolve) => {
          setTimeout(() => {
            room = 1000;
            resolve();
          }, 1);
        }),
      prepareCommit: () => ({ committables: [], writerStates: [], durable: Promise.resolve() }),
      close: () => Promise.resolve(),
    };
  },
};

export default job('flat', (env) => {
  env.enableCheckpointing('20ms');
  const generator = (index) => ({
    id: index,
    user: \`user-\${index % 1000}\`,
    amount: index * 1.5,
  });
  env
    .fromSource(datagen({ count: ${RECORDS}, generator }), { uid: 'fast' })
    .rebalance()
    .sinkTo(slowSink)
    .uid('slow');
});
`;

const MAIN = `${HELD}
import { runJob } from '${ENGINE}';

const timer = setInterval(() => console.log('held main', held()), 50);
let backPressured = 0;
const outcome = await runJob(process.argv[2], {
  parallelism: 2,
  onEvent(event) {
    if (event.type === 'progress')
      backPressured = Math.max(backPressured, event.vertices[0].backPressured);
  },
});
clearInterval(timer);
console.log('ended', outcome.status, outcome.completedCheckpoints, backPressured);
`;

test('ten million records from a fast source to a slow sink leave the heap flat', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-heap-'));
  try {
    writeFileSync(join(folder, 'job.mjs'), JOB);
    writeFileSync(join(folder, 'main.mjs'), MAIN);
    const output = await runChild(join(folder, 'main.mjs'), join(folder, 'job.mjs'));
    const [, status, checkpoints, backPressured] = /^ended (\w+) (\d+) (\S+)$/m.exec(output) ?? [];
    assert.equal(status, 'FINISHED', output);
    assert.ok(Number(checkpoints) > 5, `${checkpoints} checkpoints`);
    assert.ok(Number(backPressured) > 0.2, `the source was slowed: ${backPressured}`);
    for (const thread of ['0', '1', 'main']) {
      const samples = held(output, thread);
      assert.ok(samples.length >= 40, `${samples.length} samples of thread ${thread}`);
      const growth = growthOf(samples);
      assert.ok(growth <= GROWTH_MAX, `thread ${thread} grew by ${(growth * 100).toFixed(2)} %`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

function runChild(main: string, job: string): Promise<string> {
  const child = spawn(process.execPath, ['--expose-gc', main, job], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => resolve(output));
  });
}

function held(output: string, thread: string): number[] {
  const byModules = new Map<string, number[]>();
  for (const [, modules = '', bytes] of output.matchAll(
    new RegExp(`^held ${thread} (\\d+) (\\d+)$`, 'gm'),
  ))
    byModules.set(modules, [...(byModules.get(modules) ?? []), Number(bytes)]);
  return [...byModules.values()].sort((a, b) => b.length - a.length)[0] ?? [];
}

/** Of the straight line that fits best: its rise over all samples, as a share of their mean. */
function growthOf(samples: readonly number[]): number {
  const settled = samples.slice(Math.floor(samples.length * WARM_UP));
  const n = settled.length;
  const meanX = (n - 1) / 2;
  const meanY = settled.reduce((a, b) => a + b) / n;
  let covariance = 0;
  let variance = 0;
  for (const [x, y] of settled.entries()) {
    covariance += (x - meanX) * (y - meanY);
    variance += (x - meanX) ** 2;
  }
  return ((covariance / variance) * samples.length) / meanY;
}
