/** The command as a process: what cannot be seen without one. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const BIN = join(import.meta.dirname, '../../bin/weir.js');

const folder = mkdtempSync(join(tmpdir(), 'weir-cli-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function writeJob(name: string, source: string): void {
  const lines = [
    "import { datagen, job } from '@weir/core';",
    `export default job('${name}', (env) => {`,
    "  env.enableCheckpointing('50ms');",
    `  ${source}`,
    '});',
  ];
  writeFileSync(join(folder, `${name}.ts`), lines.join('\n'));
}

function start(...args: readonly string[]): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [BIN, ...args], { cwd: folder });
  child.stdout.setEncoding('utf8');
  child.stderr.setEncoding('utf8');
  return child;
}

/** Output and exit code at the end. */
async function ended(
  child: ChildProcessWithoutNullStreams,
): Promise<{ out: string; error: string; code: number | null }> {
  let out = '';
  let error = '';
  child.stdout.on('data', (text: string) => (out += text));
  child.stderr.on('data', (text: string) => (error += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { out, error, code };
}

const ENDLESS =
  "env.fromSource(datagen({ generator: (n) => n, rate: 1000 }), { uid: 'numbers' })" +
  ".filter((n) => n % 100 === 0).print().uid('out');";

test('the command answers with its version', async () => {
  const { out, code } = await ended(start('--version'));
  assert.match(out, /^weir \d+\.\d+\.\d+\n$/);
  assert.equal(code, 0);
});

test("a job's own output is passed on, and a timer it leaves open does not keep it", async () => {
  writeJob(
    'small',
    "setInterval(() => undefined, 1000); env.fromCollection([1, 2], { uid: 'numbers' })" +
      ".map((n) => { console.log('log', n); return n; }).uid('logged').print().uid('out');",
  );
  const { out, error, code } = await ended(start('run', 'small.ts'));
  assert.equal(error, '');
  assert.equal(code, 0);
  const lines = out.split('\n');
  assert.match(lines[0]!, /^job small: .*starts empty/);
  for (const line of ['1', '2', 'log 1', 'log 2']) assert(lines.includes(line), `${line}: ${out}`);
  assert.match(lines.at(-2)!, /^finished after/);
});

test('Ctrl-C stops a run and keeps its state, and the same command resumes', async () => {
  writeJob('endless', ENDLESS);
  for (const first of [/starts empty/, /resumes from checkpoint/]) {
    const child = start('run', 'endless.ts');
    child.stdout.on('data', (text: string) => {
      if (text.includes('checkpoint') && text.includes('took')) child.kill('SIGINT');
    });
    const { out, error, code } = await ended(child);
    assert.equal(code, 130, error);
    assert.match(out, first);
    assert.match(
      out,
      /stopped after .*\nstate is kept in .*\nresume with: weir run endless\.ts\n$/,
    );
    assert.equal(error, 'stopping; the state is kept. Once more to end at once.\n');
  }
});

test('a run whose reader goes away stops and keeps its state', async () => {
  writeJob('unread', ENDLESS);
  const child = start('run', 'unread.ts');
  child.stdout.once('data', () => child.stdout.destroy());
  const [code] = (await once(child, 'exit')) as [number | null];
  assert.equal(code, 143);
});
