import { deepStrictEqual, strictEqual, throws } from 'node:assert/strict';
import { test } from 'node:test';
import type { AggregateFunction } from '../../api/state.ts';
import {
  aggregatingState,
  listState,
  mapState,
  reducingState,
  valueState,
} from '../../api/state-descriptors.ts';
import { OPERATOR_NAME, keyedSubtask } from '../test-support.ts';

const average: AggregateFunction<number, { sum: number; count: number }, number> = {
  createAccumulator: () => ({ sum: 0, count: 0 }),
  add: (value, { sum, count }) => ({ sum: sum + value, count: count + 1 }),
  getResult: ({ sum, count }) => sum / count,
};

const DECLARATION = {
  total: valueState({ default: 0 }),
  profile: valueState<{ tags: string[] }>({ default: () => ({ tags: [] }) }),
  events: listState<number>(),
  byDay: mapState<string | [string, number], number>(),
  max: reducingState<number>((a, b) => Math.max(a, b)),
  mean: aggregatingState(average),
};

test('each key has state of its own, and a key without state has the defaults', () => {
  const { backend, state } = keyedSubtask(DECLARATION);
  backend.setCurrentKey('a');
  state.total.update(5);
  state.events.add(1);
  backend.setCurrentKey('b');
  strictEqual(state.total.value, 0);
  deepStrictEqual(state.events.get(), []);
  backend.setCurrentKey('a');
  strictEqual(state.total.value, 5);
  strictEqual(backend.currentKey, 'a');
});

test('a default made by a factory is never shared', () => {
  const { backend, state } = keyedSubtask(DECLARATION);
  backend.setCurrentKey('a');
  state.profile.value.tags.push('mine');
  deepStrictEqual(state.profile.value, { tags: [] });
});

test('lists, maps, reducing and aggregating state do what their names say', () => {
  const { backend, state } = keyedSubtask(DECLARATION);
  backend.setCurrentKey(['eu', 1]);
  strictEqual(state.max.get(), undefined);
  strictEqual(state.mean.get(), undefined);
  for (const value of [3, 9, 6]) {
    state.events.add(value);
    state.max.add(value);
    state.mean.add(value);
  }
  state.events.addAll([1, 2]);
  deepStrictEqual(state.events.get(), [3, 9, 6, 1, 2]);
  strictEqual(state.max.get(), 9);
  strictEqual(state.mean.get(), 6);
  state.events.update([7]);
  deepStrictEqual(state.events.get(), [7]);
  state.byDay.put('monday', 1);
  state.byDay.put(['week', 2], 2);
  strictEqual(state.byDay.get(['week', 2]), 2);
  strictEqual(state.byDay.has('tuesday'), false);
  deepStrictEqual([...state.byDay.keys()], ['monday', ['week', 2]]);
  deepStrictEqual([...state.byDay.entries()][1], [['week', 2], 2]);
  deepStrictEqual([...state.byDay.values()], [1, 2]);
});

test('a key whose last state is gone leaves nothing behind [R088]', () => {
  const { backend, state } = keyedSubtask(DECLARATION);
  for (let key = 0; key < 100; key++) {
    backend.setCurrentKey(key);
    state.events.add(1);
    state.byDay.put('monday', 1);
    state.total.update(1);
  }
  strictEqual(backend.keyCount, 100);
  for (let key = 0; key < 100; key++) {
    backend.setCurrentKey(key);
    state.events.update([]);
    state.byDay.remove('monday');
    strictEqual(state.byDay.isEmpty, true);
    state.total.clear();
    state.total.clear();
  }
  strictEqual(backend.keyCount, 0);
});

test('reading and clearing make no entry', () => {
  const { backend, state } = keyedSubtask(DECLARATION);
  backend.setCurrentKey('a');
  strictEqual(state.total.value, 0);
  state.total.clear();
  state.byDay.remove('monday');
  state.events.addAll([]);
  strictEqual(backend.keyCount, 0);
});

test('undefined without a default is no state, and with one it is a value', () => {
  const { backend, state } = keyedSubtask({
    since: valueState<number>(),
    limit: valueState<number | undefined>({ default: 5 }),
  });
  const unset = undefined as unknown as number;
  backend.setCurrentKey('a');
  for (const since of [unset, 3, unset]) state.since.update(since);
  strictEqual(backend.keyCount, 0);
  state.limit.update(undefined);
  strictEqual(state.limit.value, undefined);
  strictEqual(backend.keyCount, 1);
});

test('without a current key, state refuses to be used and says where it may be', () => {
  const { backend, state } = keyedSubtask(DECLARATION);
  const expected = new RegExp(`keyed state of ${OPERATOR_NAME} was used while no key is current`);
  throws(() => state.total.value, expected);
  throws(() => state.total.update(1), expected);
  throws(() => state.events.add(1), expected);
  throws(() => state.byDay.keys(), expected);
  throws(() => backend.currentKey, expected);
  backend.setCurrentKey('a');
  state.total.update(1);
  backend.clearCurrentKey();
  throws(() => state.total.value, { code: 'USER_FUNCTION_FAILED' });
});

test('a reduce that throws leaves the state as it was [R116]', () => {
  const declaration = {
    sum: reducingState<number>((a, b) => {
      if (b < 0) throw new Error('negative');
      return a + b;
    }),
  };
  const { backend, state } = keyedSubtask(declaration);
  backend.setCurrentKey('a');
  state.sum.add(5);
  throws(() => state.sum.add(-1), /negative/);
  strictEqual(state.sum.get(), 5);
  state.sum.add(7);
  strictEqual(state.sum.get(), 12);
});

test('with freezing on, whoever mutates what it read is met', () => {
  const { backend, state } = keyedSubtask(DECLARATION, { freeze: true });
  backend.setCurrentKey('a');
  state.profile.update({ tags: ['x'] });
  throws(() => state.profile.value.tags.push('y'), TypeError);
  state.events.add(1);
  state.events.add(2);
  deepStrictEqual(state.events.get(), [1, 2]);
  throws(() => (state.events.get() as number[]).push(3), TypeError);
});

test('keys beyond what one map can hold are found all the same', () => {
  const { backend, state } = keyedSubtask(DECLARATION, { entriesPerMap: 3 });
  for (let key = 0; key < 20; key++) {
    backend.setCurrentKey(key);
    state.total.update(key);
  }
  for (let key = 0; key < 20; key++) {
    backend.setCurrentKey(key);
    strictEqual(state.total.value, key);
    if (key % 2 === 0) state.total.clear();
  }
  strictEqual(backend.keyCount, 10);
});

test('a list that was read stays as it was read, whatever is added later', () => {
  for (const freeze of [false, true]) {
    const { backend, state } = keyedSubtask(DECLARATION, { freeze });
    backend.setCurrentKey('a');
    state.events.addAll([1, 2]);
    const read = state.events.get();
    state.events.add(3);
    deepStrictEqual(read, [1, 2]);
    state.events.addAll(state.events.get());
    for (const event of state.events.get()) if (event === 3) state.events.add(4);
    deepStrictEqual(state.events.get(), [1, 2, 3, 1, 2, 3, 4, 4]);
  }
});

test('a result that is the accumulator itself does not change with it', () => {
  const { backend, state } = keyedSubtask({
    count: aggregatingState<number, { n: number }, { n: number }>({
      createAccumulator: () => ({ n: 0 }),
      add(value, accumulator) {
        accumulator.n += value;
        return accumulator;
      },
      getResult: (accumulator) => accumulator,
    }),
  });
  backend.setCurrentKey('a');
  state.count.add(1);
  const first = state.count.get();
  state.count.add(1);
  deepStrictEqual([first, state.count.get()], [{ n: 1 }, { n: 2 }]);
});
