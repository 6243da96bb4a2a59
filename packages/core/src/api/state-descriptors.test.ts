import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  aggregatingState,
  broadcastState,
  listState,
  mapState,
  operatorListState,
  reducingState,
  unionListState,
  valueState,
} from './state-descriptors.ts';
import { outputTag } from './type-markers.ts';

test('a default may be any primitive or a function, and is kept as given', () => {
  const factory = (): string[] => [];
  for (const value of [0, '', false, 5n, null, undefined, factory])
    assert.equal(valueState({ default: value as never }).default, value);
  assert.equal(valueState().default, undefined);
});

test('a default that is an object is refused, since all keys would share it', () => {
  for (const value of [{}, [], new Date(), new Map()])
    assert.throws(() => valueState({ default: value as never }), /shared by all keys.*\(\) => …/);
});

test('each constructor makes its kind', () => {
  const sum = (a: number, b: number): number => a + b;
  assert.deepEqual(listState(), { kind: 'list' });
  assert.deepEqual(mapState(), { kind: 'map' });
  assert.deepEqual(reducingState(sum), { kind: 'reducing', reduce: sum });
  assert.deepEqual(operatorListState(), { kind: 'operatorList', mode: 'list' });
  assert.deepEqual(unionListState(), { kind: 'operatorList', mode: 'union' });
  assert.deepEqual(broadcastState(), { kind: 'broadcast' });
});

test('what cannot merge or aggregate is refused', () => {
  assert.throws(() => reducingState(undefined as never), /expected a function/);
  assert.throws(
    () => aggregatingState({ createAccumulator: () => 0 } as never),
    /expected an object with a method add/,
  );
  assert.throws(() => aggregatingState(undefined as never), /createAccumulator/);
});

test('a side output needs an id', () => {
  assert.equal(outputTag('late').id, 'late');
  assert.throws(() => outputTag(''), /the id/);
});
