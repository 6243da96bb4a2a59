/** A password that a job is given: what a run tells of it and what it leaves for others to read. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { job } from '@weir/core';
import type { Job, RunEvent } from '@weir/core';
import { run } from './support/run.ts';

const args = (password: string): { readonly database: string } => ({
  database: `postgres://weir:${password}@db.example:5432/orders`,
});

const reading: Job = job('reading', (env) => {
  const database = env.args.string('database');
  assert.match(database, /:(hidden|other)@/, 'the job itself gets it as given');
  env.fromCollection([1, 2], { uid: 'numbers' }).print();
});

test('the data folder holds no password, and still tells other arguments apart', async (t) => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'weir-secrets-'));
  t.after(() => rmSync(dataDirectory, { recursive: true, force: true }));
  const again = async (password: string): Promise<string> =>
    (await run(reading, { args: args(password), dataDirectory })).outcome.status;
  assert.equal(await again('hidden'), 'FINISHED');
  assert.equal(await again('hidden'), 'ALREADY_FINISHED');
  const entries = readdirSync(dataDirectory, { recursive: true, withFileTypes: true });
  const texts = entries
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
  assert.ok(texts.some((text) => text.includes('postgres://weir:***@db.example:5432/orders')));
  for (const text of texts) assert.ok(!text.includes('hidden'), text);
  assert.equal(await again('other'), 'FINISHED');
});

test('an error of the job that names its database tells everything but the password', async () => {
  const failing = job('failing', (env) => {
    const database = env.args.string('database');
    env
      .fromCollection([1, 2], { uid: 'numbers' })
      .map((): number => {
        throw new Error(`cannot reach ${database}`);
      })
      .print();
  });
  const events: RunEvent[] = [];
  const running = run(failing, { args: args('hidden'), onEvent: (event) => events.push(event) });
  await assert.rejects(running, (error: Error) => {
    const told = `${JSON.stringify(events)}${error.message}${error.stack}`;
    assert.match(told, /cannot reach postgres:\/\/weir:\*\*\*@db\.example/);
    assert.doesNotMatch(told, /hidden/);
    return true;
  });
});
