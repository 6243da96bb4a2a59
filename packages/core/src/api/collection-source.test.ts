import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectionSource } from './collection-source.ts';
import type { SourceReader, SourceReaderContext, SplitEnumeratorContext } from './source.ts';

type Split = { readonly next: number };

const VALUES = ['a', 'b', 'c', 'd'];

function newReader(): SourceReader<string, Split> {
  const context = { sendSplitRequest: () => undefined, wakeUp: () => undefined };
  return collectionSource(VALUES).createReader(context as unknown as SourceReaderContext);
}

function read(reader: SourceReader<string, Split>, count: number): readonly string[] {
  const values: string[] = [];
  reader.poll({
    collect: (value) => values.push(value),
    get remaining() {
      return count - values.length;
    },
  });
  return values;
}

test('the values are read in order, a batch at a time, and then end', () => {
  const reader = newReader();
  assert.deepEqual(read(reader, 2), []);
  reader.addSplits([{ next: 0 }]);
  reader.notifyNoMoreSplits();
  assert.deepEqual(read(reader, 3), ['a', 'b', 'c']);
  assert.deepEqual(read(reader, 3), ['d']);
  assert.equal(reader.poll({ collect: () => assert.fail('no more'), remaining: 1 }), 'end');
  assert.deepEqual(reader.snapshotState(1), []);
});

test('a restored reader goes on with the next value', () => {
  const reader = newReader();
  reader.addSplits([{ next: 0 }]);
  read(reader, 2);
  const splits = reader.snapshotState(1);
  assert.deepEqual(splits, [{ next: 2 }]);
  const restored = newReader();
  restored.addSplits(splits);
  assert.deepEqual(read(restored, 9), ['c', 'd']);
});

test('one subtask reads, whichever asks first, and the others end', () => {
  const assigned: (readonly [number, readonly Split[]])[] = [];
  const ended: number[] = [];
  const context = {
    assignSplits: (subtask: number, splits: readonly Split[]) => assigned.push([subtask, splits]),
    signalNoMoreSplits: (subtask: number) => ended.push(subtask),
  };
  const source = collectionSource(VALUES);
  const enumerator = source.createEnumerator(context as unknown as SplitEnumeratorContext<Split>);
  void enumerator.handleSplitRequest(1);
  void enumerator.handleSplitRequest(0);
  assert.deepEqual(assigned, [[1, [{ next: 0 }]]]);
  assert.deepEqual(ended, [1, 0]);
  assert.deepEqual(enumerator.snapshotState(1), { unassigned: [] });
  enumerator.addSplitsBack([{ next: 3 }], 1);
  void enumerator.handleSplitRequest(1);
  assert.deepEqual(assigned[1], [1, [{ next: 3 }]]);
  assert.equal(source.describeSplit?.({ next: 3 }), 'value 3 of 4');
});
