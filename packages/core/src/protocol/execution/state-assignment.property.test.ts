import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { subtaskKey } from '../../base/ids.ts';
import { keyGroupRange } from '../../base/key-groups.ts';
import type { JobGraph } from '../job-graph.ts';
import type { OperatorRestore } from '../messages.ts';
import type { SnapshotMetadata } from '../snapshot.ts';
import { jobGraphOf, operatorIdOf, vertexIdOf } from './job-graph-fixture.ts';
import { lettersOf, snapshotOf } from './snapshot-fixture.ts';
import { assignState } from './state-assignment.ts';

const MAX_PARALLELISM = 16;
const parallelism = fc.integer({ min: 1, max: MAX_PARALLELISM });

const graphOf = (parallelism: number): JobGraph =>
  jobGraphOf({ source: 1, sum: { parallelism, maxParallelism: MAX_PARALLELISM } }, [
    'source -hash-> sum',
  ]);

function restore(metadata: SnapshotMetadata, to: number): readonly (OperatorRestore | undefined)[] {
  const options = { directory: '/', allowNonRestored: false };
  const { restores } = assignState(metadata, graphOf(to), options);
  return Array.from({ length: to }, (_, subtask) =>
    restores
      .get(subtaskKey(vertexIdOf('sum'), subtask))
      ?.operators.find(({ operatorId }) => operatorId === operatorIdOf('sum')),
  );
}

test('rescaling p → q → r keeps every list item once and in order, and every key group', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ maxLength: 9, unit: fc.constantFrom('a', 'b', 'c', 'd', 'e') }), {
        minLength: 1,
        maxLength: MAX_PARALLELISM,
      }),
      parallelism,
      parallelism,
      (lists, q, r) => {
        const first = snapshotOf(graphOf(lists.length), {
          states: { sum: (subtask) => ({ keyed: true, list: { items: lists[subtask] ?? '' } }) },
        });
        const atQ = restore(first, q).map((it) => lettersOf(it, 'items'));
        const second = snapshotOf(graphOf(q), {
          states: { sum: (subtask) => ({ keyed: true, list: { items: atQ[subtask] ?? '' } }) },
        });
        const atR = restore(second, r);
        const kept = atR.map((it) => lettersOf(it, 'items')).join('');
        assert.equal(kept, lists.join(''));
        for (const [subtask, operator] of atR.entries())
          assert.deepEqual(keyGroupsIn(operator, r, subtask), ownGroups(r, subtask));
      },
    ),
  );
});

test('shares of a list differ by one item at most, over all lists together', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 5 }),
      parallelism.filter((p) => p > 1),
      (lengths, to) => {
        const list = Object.fromEntries(lengths.map((n, i) => [`list${i}`, 'x'.repeat(n)]));
        const metadata = snapshotOf(graphOf(1), { states: { sum: () => ({ list }) } });
        const totals = restore(metadata, to).map((operator) =>
          Object.keys(list).reduce((sum, name) => sum + lettersOf(operator, name).length, 0),
        );
        assert.ok(Math.max(...totals) - Math.min(...totals) <= 1);
      },
    ),
  );
});

/** The key groups in the subtask's range for which its restored files hold blocks. */
function keyGroupsIn(
  operator: OperatorRestore | undefined,
  parallelism: number,
  subtask: number,
): readonly number[] {
  const [first, last] = keyGroupRange(MAX_PARALLELISM, parallelism, subtask);
  return (operator?.keyed ?? [])
    .flatMap(({ snapshot }) => snapshot.keyed?.blocks ?? [])
    .map(({ keyGroup }) => keyGroup)
    .filter((group) => group >= first && group <= last);
}

function ownGroups(parallelism: number, subtask: number): readonly number[] {
  const [first, last] = keyGroupRange(MAX_PARALLELISM, parallelism, subtask);
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}
