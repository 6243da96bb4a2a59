import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { NumberTable } from './number-table.ts';

interface Kept {
  readonly keyGroup: number;
  version: number;
  readonly numbers: Map<number, number>;
}

/** Keys that meet at the same place of a small index, and keys of every size. */
const key = fc.oneof(
  fc.integer({ min: 0, max: 20 }),
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  fc.integer({ min: 0, max: 40 }).map((n) => (n * 2 ** 20) | 0),
);
const command = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('set' as const), key, fc.nat(2), fc.double()) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('unset' as const), key, fc.nat(2), fc.constant(0)) },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constant('remove' as const), key, fc.nat(2), fc.constant(0)),
  },
);

function contentsOf(table: NumberTable): Map<number, Kept> {
  const contents = new Map<number, Kept>();
  for (let place = 0; place < table.end; place++) {
    if (!table.hasAny(place)) continue;
    const slots = [0, 1, 2].filter((slot) => table.has(place, slot));
    contents.set(table.keyAt(place), {
      keyGroup: table.keyGroupAt(place),
      version: table.versionAt(place),
      numbers: new Map(slots.map((slot) => [slot, table.get(place, slot)])),
    });
  }
  return contents;
}

test('the table holds what a map would, through growth and removals', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 2000, size: 'max' }), (commands) => {
      const table = new NumberTable(3);
      const model = new Map<number, Kept>();
      for (const [what, at, slot, number] of commands) {
        let place = table.find(at);
        const kept = model.get(at);
        strictEqual(place >= 0, kept !== undefined);
        if (what === 'set') {
          if (place < 0) place = table.add(at, Math.abs(at % 1000), 7);
          const entry = kept ?? { keyGroup: Math.abs(at % 1000), version: 7, numbers: new Map() };
          table.set(place, slot, number);
          table.setVersionAt(place, ++entry.version);
          entry.numbers.set(slot, number);
          model.set(at, entry);
        } else if (kept !== undefined) {
          if (what === 'unset' && kept.numbers.size > 1) {
            table.unset(place, slot);
            kept.numbers.delete(slot);
          } else {
            table.remove(place);
            model.delete(at);
          }
        }
        strictEqual(table.size, model.size);
      }
      deepStrictEqual(sorted(contentsOf(table)), sorted(model));
      for (const at of model.keys()) strictEqual(table.keyAt(table.find(at)), at);
    }),
    { numRuns: 60 },
  );
});

function sorted(contents: ReadonlyMap<number, Kept>): unknown {
  return [...contents]
    .toSorted(([a], [b]) => a - b)
    .map(([at, { numbers, ...rest }]) => [at, rest, [...numbers].toSorted(([a], [b]) => a - b)]);
}

test('a place that was freed is used again, without the mark of a timer', () => {
  const table = new NumberTable(1);
  const place = table.add(5, 1, 1);
  table.set(place, 0, 1);
  table.setMarkAt(place, {});
  table.remove(place);
  strictEqual(table.find(5), -1);
  strictEqual(table.end, 0, 'nothing is left to walk');
  strictEqual(table.add(6, 2, 1), place);
  strictEqual(table.markAt(place), null);
  deepStrictEqual([table.hasAny(place), table.end], [false, 1]);
});
