/** Values of older versions of a job, as its new version reads them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import type { StandardSchema } from '../../api/state-evolution.ts';
import { listState, mapState, reducingState, valueState } from '../../api/state-descriptors.ts';
import type {
  ListState,
  MapState,
  ReducingState,
  StateDeclaration,
  ValueState,
} from '../../api/state.ts';
import type { KeyGroupSection, SectionOutput } from '../keyed-state-backend.ts';
import { BlockReader } from '../snapshot/key-group-blocks.ts';
import { HeapKeyedStateBackend } from './heap-keyed-state-backend.ts';

function backendOf(declaration: StateDeclaration): {
  readonly backend: HeapKeyedStateBackend;
  readonly handles: Record<string, unknown>;
} {
  const backend = new HeapKeyedStateBackend({
    maxParallelism: 128,
    keyGroups: [0, 127],
    operatorName: '"totals"',
  });
  return { backend, handles: backend.handlesFor(declaration) };
}

/** Keeps sections in memory. */
class Sections implements SectionOutput {
  readonly bytes: Uint8Array[] = [];

  append(bytes: Uint8Array, count: number): KeyGroupSection {
    this.bytes.push(bytes.slice());
    const facts = { sizeBytes: bytes.length, count, checksum: 0, keyGroup: 0 };
    return { offset: this.bytes.length - 1, ...facts };
  }
}

interface Stored {
  readonly states: HeapKeyedStateBackend['states'];
  readonly entries: readonly { readonly keyGroup: number; readonly parts: readonly unknown[] }[];
}

function snapshotOf(backend: HeapKeyedStateBackend): Stored {
  const output = new Sections();
  const cursor = backend.startSnapshot(output);
  while (!cursor.step(100));
  const entries = cursor.sections.flatMap(({ offset, count, keyGroup }) =>
    [...new BlockReader().read(output.bytes[offset]!, count)].map((parts) => ({ keyGroup, parts })),
  );
  cursor.release();
  return { states: backend.states.map((state) => ({ ...state })), entries };
}

function restore(stored: Stored, declaration: StateDeclaration): ReturnType<typeof backendOf> {
  const made = backendOf(declaration);
  const slots = made.backend.slotsOf(stored.states);
  for (const { keyGroup, parts } of stored.entries)
    assert.ok(made.backend.insert(parts, keyGroup, slots));
  return made;
}

interface V1 {
  readonly n: number;
}
interface V2 {
  readonly count: number;
  readonly label: string;
}

function oldState(): Stored {
  const { backend, handles } = backendOf({ total: valueState<V1>() });
  for (const key of ['a', 'b', 'c']) {
    backend.setCurrentKey(key);
    (handles['total'] as ValueState<V1>).update({ n: key.charCodeAt(0) });
  }
  return snapshotOf(backend);
}

test('a value is migrated when its key comes, or by the first snapshot, and once', () => {
  const calls: number[] = [];
  const total = valueState<V2>({
    version: 2,
    migrate: {
      1: ({ n }: V1) => {
        calls.push(n);
        return { count: n, label: '' };
      },
    },
  });
  const { backend, handles } = restore(oldState(), { total });
  assert.deepEqual(calls, [], 'nothing is migrated before it is needed');
  backend.setCurrentKey('b');
  const handle = handles['total'] as ValueState<V2>;
  assert.deepEqual(handle.value, { count: 98, label: '' });
  handle.update({ count: 1, label: 'mine' });
  backend.setCurrentKey('b');
  assert.deepEqual(handle.value, { count: 1, label: 'mine' });
  assert.deepEqual(calls, [98]);
  const stored = snapshotOf(backend);
  assert.deepEqual(
    calls.toSorted((a, b) => a - b),
    [97, 98, 99],
    'a snapshot holds no value of an older type',
  );
  assert.deepEqual(
    stored.states.map(({ version }) => version),
    [2],
  );
  const again = restore(stored, { total });
  for (const key of ['a', 'b', 'c']) again.backend.setCurrentKey(key);
  assert.equal(calls.length, 3, 'what was stored is migrated no more');
  again.backend.setCurrentKey('a');
  assert.deepEqual((again.handles['total'] as ValueState<V2>).value, { count: 97, label: '' });
});

test('a snapshot under way when a key comes holds its value migrated, once', () => {
  let calls = 0;
  const migrate = {
    1: ({ n }: V1): V2 => {
      calls++;
      return { count: n, label: '' };
    },
  };
  const { backend } = restore(oldState(), { total: valueState<V2>({ version: 2, migrate }) });
  const output = new Sections();
  const cursor = backend.startSnapshot(output);
  backend.setCurrentKey('c');
  while (!cursor.step(1));
  assert.equal(calls, 3);
  const values = cursor.sections.flatMap(({ offset, count }) =>
    [...new BlockReader().read(output.bytes[offset]!, count)].map((parts) => parts[2] as V2),
  );
  assert.deepEqual(
    values.map(({ count }) => count).toSorted((a, b) => a - b),
    [97, 98, 99],
  );
});

test('items of lists, values of maps and merged values are migrated one by one', () => {
  const old = backendOf({
    list: listState<number>(),
    map: mapState<string, number>(),
    sum: reducingState<number>((a, b) => a + b),
  });
  old.backend.setCurrentKey(1);
  (old.handles['list'] as ListState<number>).addAll([1, 2]);
  (old.handles['map'] as MapState<string, number>).put('x', 3);
  (old.handles['sum'] as ReducingState<number>).add(4);
  const migrate = { 1: (n: number) => ({ n }) };
  const { backend, handles } = restore(snapshotOf(old.backend), {
    list: listState<V1>({ version: 2, migrate }),
    map: mapState<string, V1>({ version: 2, migrate }),
    sum: reducingState<V1>((a, b) => ({ n: a.n + b.n }), { version: 2, migrate }),
  });
  backend.setCurrentKey(1);
  assert.deepEqual((handles['list'] as ListState<V1>).get(), [{ n: 1 }, { n: 2 }]);
  assert.deepEqual((handles['map'] as MapState<string, V1>).get('x'), { n: 3 });
  const sum = handles['sum'] as ReducingState<V1>;
  sum.add({ n: 1 });
  assert.deepEqual(sum.get(), { n: 5 });
});

test('with a schema, added fields get their default and removed ones go [R056]', () => {
  const first = z.object({ n: z.number() });
  const second = z.object({ n: z.number(), label: z.string().default('') });
  const third = z.object({ label: z.string() });
  const old = backendOf({ total: valueState({ schema: first }) });
  old.backend.setCurrentKey('a');
  (old.handles['total'] as ValueState<V1>).update({ n: 7 });
  const one = restore(snapshotOf(old.backend), { total: valueState({ schema: second }) });
  one.backend.setCurrentKey('a');
  assert.deepEqual((one.handles['total'] as ValueState<unknown>).value, { n: 7, label: '' });
  const two = restore(snapshotOf(one.backend), { total: valueState({ schema: third }) });
  two.backend.setCurrentKey('a');
  assert.deepEqual((two.handles['total'] as ValueState<unknown>).value, { label: '' });
});

test('a value that does not fit names both schemas [R056]', () => {
  const old = backendOf({ total: valueState({ schema: z.object({ n: z.number() }) }) });
  old.backend.setCurrentKey('a');
  (old.handles['total'] as ValueState<V1>).update({ n: 7 });
  const now = valueState({ schema: z.object({ n: z.string() }) });
  const { backend } = restore(snapshotOf(old.backend), { total: now });
  assert.throws(
    () => backend.setCurrentKey('a'),
    /"total" of "totals" under key a does not fit .*: n: .*stored schema: .*"number".*"string"/,
  );
});

test('a version without a migration, or of a newer job, is refused [I-74]', () => {
  assert.throws(
    () => restore(oldState(), { total: valueState({ version: 3 }) }),
    /stored with version 1 .* declared with version 3, without a migration: give it migrate: \{ 1:/,
  );
  const newer = restore(oldState(), {
    total: valueState<V2>({ version: 2, migrate: { 1: () => ({ count: 1, label: '' }) } }),
  });
  assert.throws(
    () => restore(snapshotOf(newer.backend), { total: valueState<V1>() }),
    /stored with version 2 .* declared with version 1: it was written by a newer job/,
  );
});

test('a migration that throws names operator, state, key and version', () => {
  const total = valueState<V2>({
    version: 2,
    migrate: {
      1: () => {
        throw new Error('no label');
      },
    },
  });
  const { backend } = restore(oldState(), { total });
  assert.throws(
    () => backend.setCurrentKey('b'),
    /the migration of state "total" of "totals" from version 1 threw under key b: no label/,
  );
});

test('a migration that is async is refused, and its promise never becomes the value', () => {
  // oxlint-disable-next-line no-thenable -- what it is about
  for (const make of [async () => ({ count: 1 }), () => ({ then: () => undefined })]) {
    const total = valueState<unknown>({ version: 2, migrate: { 1: make } });
    const { backend } = restore(oldState(), { total });
    assert.throws(
      () => backend.setCurrentKey('b'),
      /migration of state "total" of "totals" from version 1 returned a promise under key b/,
    );
  }
});

/** As valibot is: JSON Schema cannot be asked for. */
function untold<T>(validate: (value: unknown) => T): StandardSchema<T> {
  const checked = (value: unknown) => ({ value: validate(value) });
  return { '~standard': { version: 1, vendor: 'untold', validate: checked } };
}

test('a schema that would change its own values again at each start is refused', () => {
  const twice = untold((value) => ({ n: (value as V1).n * 2 }));
  const toText = z.object({ n: z.number() }).transform(({ n }) => String(n));
  for (const [schema, what] of [
    [twice, /the schema of state "total" of "totals" changes what it .* under key b: .* migration/],
    [toText, /the schema of state "total" of "totals" does not take what it .* under key b: /],
  ] as const) {
    const { backend } = restore(oldState(), { total: valueState<unknown>({ schema }) });
    assert.throws(() => backend.setCurrentKey('b'), what);
  }
});

test('a schema that cannot be shown fills in, trims and leaves as it is', () => {
  const filled = untold((value) => ({ label: '', ...(value as V1) }));
  const { backend, handles } = restore(oldState(), { total: valueState({ schema: filled }) });
  backend.setCurrentKey('b');
  const first = (handles['total'] as ValueState<unknown>).value;
  assert.deepEqual(first, { label: '', n: 98 });
  const again = restore(snapshotOf(backend), { total: valueState({ schema: filled }) });
  again.backend.setCurrentKey('b');
  assert.deepEqual((again.handles['total'] as ValueState<unknown>).value, first);
});

test('a schema that can be shown changes values once', () => {
  const shown = z
    .object({ n: z.number() })
    .transform(({ n }) => ({ n: n * 2 }))
    .pipe(z.object({ n: z.number() }));
  const { backend, handles } = restore(oldState(), { total: valueState<V1>({ schema: shown }) });
  backend.setCurrentKey('b');
  assert.deepEqual((handles['total'] as ValueState<V1>).value, { n: 196 });
  const again = restore(snapshotOf(backend), { total: valueState<V1>({ schema: shown }) });
  again.backend.setCurrentKey('b');
  assert.deepEqual((again.handles['total'] as ValueState<V1>).value, { n: 196 });
});

test('the compiler checks what a migration gives', () => {
  // @ts-expect-error a number is no V2
  const wrong = valueState<V2>({ version: 2, migrate: { 1: (stored: V1) => stored.n } });
  assert.equal(wrong.kind, 'value');
});

test('parts that do not fit together are refused where they are declared', () => {
  const none = (): V2 => ({ count: 0, label: '' });
  assert.throws(() => valueState({ version: 0 }), /version 0 must be a whole number from 1 on/);
  assert.throws(
    () => listState<V2>({ version: 2, migrate: { 2: none } }),
    /migrate\[2\] is for a version that is not older than version 2/,
  );
});
