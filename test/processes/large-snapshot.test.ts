/** Looking into a snapshot that is larger than the memory of whoever looks. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { place, ROOT } from './weir.ts';

const KEYS = 100_000;
/** Megabytes: a third of the snapshot. */
const MEMORY = 32;

const JOB = `
import { datagen, job, valueState } from '@weir/core';
export default job('large', (env) => {
  env.enableCheckpointing('1h');
  env
    .fromSource(datagen({ generator: (id) => id, count: 1e9 }), { uid: 'ids' })
    .keyBy((id) => id % ${KEYS})
    .process({
      state: { text: valueState({ default: '' }) },
      onElement(id, { state }) {
        state.text.update(String(id).padStart(1000, 'x'));
      },
    })
    .uid('texts')
    .collect([]);
});
`;

test('inspect and diff stream, however slowly their output is read', async (t) => {
  const at = place(t);
  const job = at.write('large.ts', JOB);
  const weir = at.start(['run', '-p', '2', job]);
  await weir.said(/running for/);
  const { out } = await at.run(['list']);
  const jobId = /[0-9a-f]{32}/.exec(out)?.[0] ?? '';
  const taken: string[] = [];
  await weir.until('all keys', () =>
    [...weir.output.matchAll(/Collect: ([\d,]+) records/g)].some(
      ([, count = '']) => Number(count.replaceAll(',', '')) > 2 * KEYS,
    ),
  );
  while (taken.length < 2) {
    const savepoint = await at.run(['savepoint', jobId, at.path(`sp-${taken.length}`)]);
    assert.equal(savepoint.code, 0, savepoint.output);
    taken.push(at.path(`sp-${taken.length}`, readdirSync(at.path(`sp-${taken.length}`))[0] ?? ''));
  }
  await weir.kill();
  const lines = async (...words: readonly string[]): Promise<number> => {
    const command = join(ROOT, 'packages/core/bin/weir.js');
    const node = `${process.execPath} --max-old-space-size=${MEMORY} ${command}`;
    const script = `set -o pipefail; ${node} ${words.join(' ')} | (sleep 1; wc -l) || test $? = 1`;
    const { stdout } = await promisify(execFile)('bash', ['-c', script]);
    return Number(stdout.trim());
  };
  assert.equal(await lines('inspect', taken[0] ?? '', '--state', 'texts/text'), KEYS);
  assert.ok((await lines('diff', taken[0] ?? '', taken[1] ?? '')) > KEYS / 2);
});
