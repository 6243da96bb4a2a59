import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { PENDING_TRANSITIONS } from './pending-checkpoint.ts';

test('the diagram of states shows the states of the table', () => {
  const head = readFileSync(new URL('./pending-checkpoint.ts', import.meta.url), 'utf8');
  const [diagram = '', after = ''] = head.split('created:', 2);
  assert.notEqual(after, '');
  for (const state of Object.keys(PENDING_TRANSITIONS)) assert.match(diagram, new RegExp(state));
  const [chain = ''] = diagram.match(/created ──►.*/) ?? [];
  const path = chain.split('──►').map((state) => state.trim());
  for (const [index, state] of path.entries()) {
    const next = path[index + 1];
    const expected = next === undefined ? [] : [next, 'aborted'];
    assert.deepEqual(PENDING_TRANSITIONS[state as keyof typeof PENDING_TRANSITIONS], expected);
  }
});
