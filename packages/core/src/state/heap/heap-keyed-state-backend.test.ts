import { deepStrictEqual, rejects, strictEqual, throws } from 'node:assert/strict';
import { test } from 'node:test';
import type { KeyValue } from '../../api/functions.ts';
import { listState, mapState, valueState } from '../../api/state-descriptors.ts';
import { ManualClock } from '../../base/clock.ts';
import { SerializationError, StateMigrationError } from '../../base/errors.ts';
import { hashKey, keyGroupOf } from '../../base/key-groups.ts';
import { readKeyed } from '../snapshot/read-keyed.ts';
import { restoreKeyed } from '../snapshot/restore.ts';
import type { KeyedSubtask } from '../test-support.ts';
import {
  MemoryOutput,
  finishSnapshot,
  keyedSubtask,
  memoryEnvironment,
  takeSnapshot,
} from '../test-support.ts';

const DECLARATION = { total: valueState<unknown>() };

test('state of the only key there is goes to the subtask that owns its group [R061]', async () => {
  const declaration = { total: valueState({ default: 0 }) };
  const old = [0, 1, 2, 3].map((subtask) => keyedSubtask(declaration, { parallelism: 4, subtask }));
  const owner = old.find(({ backend }) => owns(backend.keyGroups, 'key1'))!;
  owner.backend.setCurrentKey('key1');
  owner.state.total.update(7);
  const parts = old.map((subtask) => takeSnapshot(subtask));
  for (const parallelism of [2, 8]) {
    const found: number[] = [];
    for (let subtask = 0; subtask < parallelism; subtask++) {
      const fresh = keyedSubtask(declaration, { parallelism, subtask });
      await restoreKeyed(memoryEnvironment(), fresh.backend, parts);
      strictEqual(fresh.backend.keyCount, owns(fresh.backend.keyGroups, 'key1') ? 1 : 0);
      fresh.backend.setCurrentKey('key1');
      if (fresh.state.total.value !== 0) found.push(fresh.state.total.value);
    }
    deepStrictEqual(found, [7]);
  }
});

function owns([first, last]: readonly [number, number], key: KeyValue): boolean {
  const keyGroup = keyGroupOf(hashKey(key), 128);
  return first <= keyGroup && keyGroup <= last;
}

test('what is no key is refused where it arrives too, where getters of its record are gone', () => {
  const { backend } = keyedSubtask(DECLARATION);
  for (const key of [undefined, null, Number.NaN, Infinity, new Date(0), ['a', undefined]])
    throws(
      () => backend.setCurrentKey(key as KeyValue),
      /key function of totals .*without the ge/s,
    );
  for (const key of ['', 0, -1.5, 2 ** 53, true, 1n, ['a', [1]]]) backend.setCurrentKey(key);
});

test('a key of another subtask gets neither state nor timers', () => {
  const two = [0, 1].map((subtask) => keyedSubtask(DECLARATION, { parallelism: 2, subtask }));
  for (const { backend, state, timers } of two) {
    const service = timers.serviceFor(backend, new ManualClock());
    for (const key of ['a', 'b', 'c', 1, 2, 3, 0.25]) {
      backend.setCurrentKey(key);
      const use = (): void => {
        state.total.update(1);
        service.registerEventTimeTimer(5);
      };
      if (owns(backend.keyGroups, key)) use();
      else {
        throws(use, /returned [abc\d.]+, a key of another subtask/);
        throws(() => service.registerEventTimeTimer(5), { code: 'KEY_INVALID' });
      }
    }
  }
  strictEqual(
    two.map(({ backend }) => backend.keyCount).reduce((a, b) => a + b),
    7,
  );
  strictEqual(
    two.map(({ timers }) => timers.size).reduce((a, b) => a + b),
    7,
  );
});

test('a snapshot can be read without the job, with keys and states by name', async () => {
  const subtask = keyedSubtask({ total: valueState<number>(), days: mapState<unknown, number>() });
  const { backend, state } = subtask;
  backend.setCurrentKey(['eu', 1]);
  state.total.update(5);
  state.days.put(['week', 2], 1);
  const { data, snapshot } = takeSnapshot(subtask);
  const rows: unknown[] = [];
  for await (const row of readKeyed(memoryEnvironment(), data, snapshot, [0, 127])) rows.push(row);
  const keyGroup = keyGroupOf(hashKey(['eu', 1]), 128);
  const states = { total: 5, days: new Map([[['week', 2], 1]]) };
  deepStrictEqual(rows, [{ keyGroup, key: ['eu', 1], states }]);
});

test('a state that was stored as another kind is refused, naming both', async () => {
  const old = keyedSubtask({ total: valueState<number>() });
  old.backend.setCurrentKey('a');
  old.state.total.update(1);
  const part = takeSnapshot(old);
  const fresh = keyedSubtask({ total: listState<number>() });
  await rejects(restoreKeyed(memoryEnvironment(), fresh.backend, [part]), (error: unknown) => {
    strictEqual(error instanceof StateMigrationError, true);
    const { message } = error as StateMigrationError;
    return /state "total" of totals was stored as value state and is declared as list/.test(
      message,
    );
  });
});

test('a state declared no more is dropped with a warning, and its key with it', async () => {
  const old = keyedSubtask({ gone: valueState<number>(), kept: valueState<number>() });
  old.backend.setCurrentKey('a');
  old.state.gone.update(1);
  old.backend.setCurrentKey('b');
  old.state.gone.update(1);
  old.state.kept.update(2);
  const fresh = keyedSubtask({ added: valueState<number>(), kept: valueState<number>() });
  const warnings = await restoreKeyed(memoryEnvironment(), fresh.backend, [takeSnapshot(old)]);
  deepStrictEqual(warnings, ['state "gone" of totals is declared no more and was dropped']);
  strictEqual(fresh.backend.keyCount, 1);
  fresh.backend.setCurrentKey('b');
  strictEqual(fresh.state.kept.value, 2);
});

test('a value that cannot be encoded fails the snapshot, not the record that touches it', () => {
  const { backend, state } = keyedSubtask(DECLARATION);
  backend.setCurrentKey('a');
  state.total.update({ sum: 1, onDone: () => undefined });
  const cursor = backend.startSnapshot(new MemoryOutput());
  backend.setCurrentKey('a');
  state.total.update(2);
  throws(
    () => cursor.step(10),
    (error: unknown) => {
      strictEqual(error instanceof SerializationError, true);
      const { message } = error as SerializationError;
      return /^state "total" of totals under key a: cannot store a function.*onDone/.test(message);
    },
  );
  cursor.release();
  strictEqual(takeSnapshot({ ...keyedSubtask(DECLARATION), backend }).snapshot.keyed?.keyCount, 1);
});

test('a released snapshot costs nothing any more', () => {
  const { backend, state } = keyedSubtask(DECLARATION);
  backend.setCurrentKey('a');
  state.total.update(1);
  const output = new MemoryOutput();
  const cursor = backend.startSnapshot(output);
  cursor.release();
  cursor.release();
  backend.setCurrentKey('a');
  state.total.update(2);
  throws(() => cursor.step(1), /released/);
  strictEqual((output.handle as { bytes: Uint8Array }).bytes.length, 0);
});

test('a snapshot ends although new keys keep coming', () => {
  const { backend, state } = keyedSubtask(DECLARATION);
  for (let key = 0; key < 10; key++) {
    backend.setCurrentKey(key);
    state.total.update(key);
  }
  const cursor = backend.startSnapshot(new MemoryOutput());
  let next = 10;
  for (let slices = 0; !cursor.step(2); slices++) {
    strictEqual(slices < 12, true);
    for (let i = 0; i < 5; i++) {
      backend.setCurrentKey(next++);
      state.total.update(0);
    }
  }
  strictEqual(cursor.entryCount, 10);
  strictEqual(
    cursor.sections.reduce((sum, { count }) => sum + count, 0),
    10,
  );
});

test('starting a snapshot leaves no key current, so that nothing is changed unseen', () => {
  const { backend, state } = keyedSubtask(DECLARATION);
  backend.setCurrentKey('a');
  state.total.update(1);
  backend.startSnapshot(new MemoryOutput());
  throws(() => state.total.update(2), /no key is current/);
});

const COUNTS = { count: valueState<unknown>(), last: valueState<unknown>() };

/** What the keys hold, [count, last] each. */
function countsOf(
  { backend, state }: KeyedSubtask<typeof COUNTS>,
  keys: readonly KeyValue[],
): unknown[] {
  return keys.map((key) => {
    backend.setCurrentKey(key);
    return [state.count.value, state.last.value];
  });
}

test('numbers under whole numbers are kept apart, and become objects when they must', async () => {
  const subtask = keyedSubtask(COUNTS);
  const { backend, state } = subtask;
  const keys: KeyValue[] = [0, -1, 2 ** 31 - 1, 2 ** 31, 'text', 7];
  for (const key of keys) {
    backend.setCurrentKey(key);
    state.count.update(key === 7 ? -0 : Number.NaN);
  }
  backend.setCurrentKey(-1);
  state.last.update({ at: 5 });
  state.count.update(3);
  backend.setCurrentKey(-0);
  state.last.update('here');
  state.last.clear();
  const expected = [
    [Number.NaN, undefined],
    [3, { at: 5 }],
    [Number.NaN, undefined],
    [Number.NaN, undefined],
    [Number.NaN, undefined],
    [-0, undefined],
  ];
  deepStrictEqual(countsOf(subtask, keys), expected);
  // A snapshot says nothing of how entries were kept, and may be read into either.
  const second = keyedSubtask(COUNTS);
  await restoreKeyed(memoryEnvironment(), second.backend, [takeSnapshot(subtask)]);
  deepStrictEqual(countsOf(second, keys), expected);
  strictEqual(second.backend.keyCount, keys.length);
});

test('what was of numbers when a snapshot began is in it as it was then', async () => {
  const subtask = keyedSubtask(COUNTS);
  const { backend, state } = subtask;
  const keys = Array.from({ length: 5000 }, (_, key) => key);
  const each = (change: (key: number) => void): void => {
    for (const key of keys) {
      backend.setCurrentKey(key);
      change(key);
    }
  };
  each((key) => state.count.update(key));
  const output = new MemoryOutput();
  const cursor = backend.startSnapshot(output);
  cursor.step(100);
  each((key) => {
    if (key % 3 === 0) state.count.clear();
    else state.count.update(key % 3 === 1 ? 'changed' : -1);
  });
  each((key) => state.last.update(key));
  const second = keyedSubtask(COUNTS);
  const part = finishSnapshot(subtask, output, cursor);
  await restoreKeyed(memoryEnvironment(), second.backend, [part]);
  deepStrictEqual(
    countsOf(second, keys),
    keys.map((key) => [key, undefined]),
  );
});

test('a tuple key stays what it is when the array it came from changes', async () => {
  const { backend, state, ...rest } = keyedSubtask({ total: valueState<number>() });
  const key = ['eu', ['a']] as const;
  const record = structuredClone(key) as unknown as [string, string[]];
  backend.setCurrentKey(record);
  state.total.update(1);
  record[1].push('b');
  const part = takeSnapshot({ backend, state, ...rest });
  const restored = keyedSubtask({ total: valueState<number>() });
  await restoreKeyed(memoryEnvironment(), restored.backend, [part]);
  for (const each of [{ backend, state }, restored]) {
    each.backend.setCurrentKey(key);
    strictEqual(each.state.total.value, 1);
    each.state.total.clear();
    strictEqual(each.backend.keyCount, 0);
  }
});
