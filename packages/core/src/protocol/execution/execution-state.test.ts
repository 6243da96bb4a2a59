import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { EXECUTION_TRANSITIONS, JOB_TRANSITIONS } from './execution-state.ts';

/** The diagrams of the head text: one map for executions, one for jobs. */
function diagrams(): readonly Record<string, string[]>[] {
  const source = readFileSync(new URL('./execution-state.ts', import.meta.url), 'utf8');
  const parts = source.split('\n * Job:\n');
  assert.equal(parts.length, 2);
  return parts.map((part) => {
    const lines = part.matchAll(/^ \* {5}([A-Z]+) +→ (.+)$/gm);
    return Object.fromEntries([...lines].map(([, from, to]) => [from, (to ?? '').split(' ')]));
  });
}

const withoutEnds = (table: Readonly<Record<string, readonly string[]>>): unknown =>
  Object.fromEntries(Object.entries(table).filter(([, to]) => to.length > 0));

test('the diagrams show the transitions', () => {
  const [executions, jobs] = diagrams();
  assert.deepEqual(executions, withoutEnds(EXECUTION_TRANSITIONS));
  assert.deepEqual(jobs, withoutEnds(JOB_TRANSITIONS));
});
