import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OperatorSpec } from '../jobs/job-spec.ts';
import type { Counted } from '../jobs/recount.ts';
import { addToWindow } from '../jobs/recount.ts';
import type { OperatorContents } from './snapshot-contents.ts';
import { checkState, heldBack } from './state-check.ts';

const INPUT: readonly Counted[] = [
  { id: 'a', key: 1, ts: 3 },
  { id: 'b', key: 1, ts: 5 },
];

function specOf(kind: OperatorSpec['kind']): OperatorSpec {
  return {
    type: 'operator',
    kind,
    name: 'o',
    inputs: [0],
    parallelism: null,
    partition: 'none',
    startsChain: false,
    size: 10,
  };
}

function contents(states: Readonly<Record<string, unknown>>): OperatorContents {
  const rows = [{ keyGroup: 0, key: 1, states }];
  return { rows, timers: [], lists: new Map(), watermark: 5, isPartial: false };
}

function faultOf(kind: OperatorSpec['kind'], state: OperatorContents, isExact = true): unknown {
  return checkState(specOf(kind), [INPUT], { state, isExact, keepsEventTime: true });
}

test('counted records are those before the barrier, no more and no fewer', () => {
  const seen = new Map([
    ['a', 1],
    ['b', 2],
  ]);
  assert.equal(faultOf('count', contents({ count: 2, total: 2, seen })), null);
  const behind = new Map(seen).set('c', 3);
  assert.match(
    String(faultOf('count', contents({ count: 3, total: 3, seen: behind }))),
    /behind the barrier/,
  );
  assert.equal(faultOf('count', contents({ count: 3, total: 3, seen: behind }), false), null);
  assert.match(String(faultOf('count', contents({ count: 1, total: 2, seen }))), /counted 1/);
});

test('a window that waits has its records and its timer', () => {
  const sum = addToWindow(addToWindow({ count: 0, hash: 0 }, 'a'), 'b');
  const state = contents({ sums: new Map([[10, sum]]) });
  assert.match(String(faultOf('window', state)), /without a timer/);
  state.timers.push({ keyGroup: 0, key: 1, domain: 'event', timestamp: 9 });
  assert.equal(faultOf('window', state), null);
  assert.deepEqual([...(heldBack(specOf('window'), state).windows ?? [])], ['1 10']);
  const less = contents({ sums: new Map([[10, { count: 1, hash: sum.hash }]]) });
  assert.match(String(faultOf('window', less)), /1 records of window/);
});

test('a window that has ended lies below the watermark', () => {
  const none = contents({});
  assert.match(String(faultOf('window', none)), /has ended window 1 10, and its watermark is 5/);
  assert.equal(faultOf('window', { ...none, watermark: 9 }), null);
});

test('what finished subtasks held cannot be said', () => {
  const partial = { ...contents({ count: 9, seen: new Map() }), isPartial: true };
  assert.equal(faultOf('count', partial), null);
});
