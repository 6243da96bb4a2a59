import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobGraphOf, vertexIdOf } from '../execution/job-graph-fixture.ts';
import { slotLayoutOf } from './slot-layout.ts';

test('subtask i of every vertex runs in slot i', () => {
  const layout = slotLayoutOf(jobGraphOf({ a: 2, b: 3 }, ['a -hash-> b']));
  assert.equal(layout.slotCount, 3);
  assert.equal(layout.slotOf(vertexIdOf('a'), 1), 1);
  assert.equal(layout.slotOf(vertexIdOf('b'), 1), 1);
});

test('other slot sharing groups get slots of their own behind the default group', () => {
  const layout = slotLayoutOf(
    jobGraphOf(
      {
        a: { parallelism: 2, slotSharingGroup: 'io' },
        b: 3,
        c: { parallelism: 1, slotSharingGroup: 'heavy' },
      },
      ['a -hash-> b', 'b -hash-> c'],
    ),
  );
  assert.equal(layout.slotCount, 6);
  assert.equal(layout.slotOf(vertexIdOf('b'), 2), 2);
  assert.equal(layout.slotOf(vertexIdOf('a'), 0), 3);
  assert.equal(layout.slotOf(vertexIdOf('c'), 0), 5);
});

test('a job without the default group uses no slot for it', () => {
  const layout = slotLayoutOf(jobGraphOf({ a: { parallelism: 2, slotSharingGroup: 'io' } }, []));
  assert.equal(layout.slotCount, 2);
  assert.equal(layout.slotOf(vertexIdOf('a'), 1), 1);
});
