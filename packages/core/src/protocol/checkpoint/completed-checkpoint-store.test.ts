import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CompletedCheckpointStore } from './completed-checkpoint-store.ts';
import type { CompletedCheckpoint } from './completed-checkpoint-store.ts';
import { completedCheckpoint } from './test-support.ts';

/** `c1`: checkpoint 1; `s2`: savepoint 2; `x3`: savepoint 3, which stops the job. */
function entry(text: string): CompletedCheckpoint {
  const kind = text.startsWith('c') ? 'checkpoint' : 'savepoint';
  return completedCheckpoint(Number(text.slice(1)), { kind, stopsJob: text.startsWith('x') });
}

function retainedOf(numRetained: number, ...entries: string[]): number[] {
  const store = new CompletedCheckpointStore(numRetained, []);
  for (const text of entries) store.add(entry(text));
  return store.checkpoints.map((checkpoint) => checkpoint.checkpointId);
}

test('the newest stays, and one real checkpoint beside savepoints [I-30]', () => {
  assert.deepEqual(retainedOf(1, 'c1', 'c2', 's3', 's4', 's5'), [2, 5]);
  assert.deepEqual(retainedOf(1, 'c1', 's2', 'c3'), [3]);
  assert.deepEqual(retainedOf(1, 'c1', 's2', 'x3'), [3]);
});

test('adding tells what is subsumed, oldest first', () => {
  const restored = [entry('c3'), entry('c4'), entry('c5')];
  const store = new CompletedCheckpointStore(1, restored);
  assert.deepEqual(store.add(entry('c6')), restored);
});

test('checkpoints of an earlier run are kept by the same count [R106]', () => {
  const store = new CompletedCheckpointStore(3, [entry('c3'), entry('c4'), entry('c5')]);
  store.add(entry('c6'));
  store.add(entry('c7'));
  assert.deepEqual(
    store.checkpoints.map((checkpoint) => checkpoint.checkpointId),
    [5, 6, 7],
  );
});

test('the newest is what serves recovery', () => {
  const store = new CompletedCheckpointStore(2, []);
  store.add(entry('c1'));
  store.add(entry('c2'));
  assert.equal(store.latest?.checkpointId, 2);
  assert.equal(new CompletedCheckpointStore(2, []).latest, null);
});

test('an id below the newest is refused: ids only rise', () => {
  const store = new CompletedCheckpointStore(2, [entry('c7')]);
  assert.throws(() => store.add(entry('c7')), /checkpoint 7 is stored after checkpoint 7/);
});
