import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VertexProgress } from '../run-contract.ts';
import { STARTED } from '../test-environment.ts';
import { RunProgress } from './run-progress.ts';
import { vertex } from './report-fixtures.ts';

function after(...reports: readonly (readonly [number, readonly VertexProgress[]])[]): RunProgress {
  const progress = new RunProgress(0);
  for (const [now, vertices] of reports)
    progress.apply({ type: 'progress', vertices, tasks: [] }, now);
  return progress;
}

test('rates are the records between two reports', () => {
  const progress = after(
    [1000, [vertex({ recordsIn: 500 })]],
    [3000, [vertex({ recordsIn: 2500 })]],
  );
  assert.deepEqual(
    progress.vertices.map(({ records, perSecond }) => [records, perSecond]),
    [[2500, 1000]],
  );
});

test('a source counts what it gives out', () => {
  const [source] = after([1000, [vertex({ recordsIn: 0, recordsOut: 70 })]]).vertices;
  assert.equal(source?.records, 70);
});

test('after a restart counts begin anew and rates stay positive', () => {
  const progress = after(
    [1000, [vertex({ recordsIn: 5000 })]],
    [2000, [vertex({ recordsIn: 300 })]],
  );
  assert.equal(progress.vertices[0]?.perSecond, 300);
});

test('two reports at the same moment do not divide by zero', () => {
  const progress = after([0, [vertex({ recordsIn: 10 })]], [0, [vertex({ recordsIn: 20 })]]);
  assert.equal(progress.vertices[0]?.perSecond, 0);
});

test('shares that are no numbers or beyond the whole are put right', () => {
  const [one] = after([1, [vertex({ busy: Number.NaN, backPressured: 1.2 })]]).vertices;
  assert.deepEqual([one?.busy, one?.backPressured], [0, 1]);
});

test('only counters above zero are kept', () => {
  const [one] = after([1, [vertex({ counters: { skippedRecords: 2, late: 0 } })]]).vertices;
  assert.deepEqual(one?.counters, [['skippedRecords', 2]]);
});

test('the time of a run counts from where its end counts from', () => {
  const progress = new RunProgress(1000);
  progress.apply({ ...STARTED, elapsedMs: 300 }, 2000);
  assert.equal(progress.startedAt, 1700);
});
