import { deepStrictEqual, strictEqual, throws } from 'node:assert/strict';
import { test } from 'node:test';
import type { StateDeclaration, StateHandles } from '../../api/state.ts';
import { broadcastState, operatorListState, unionListState } from '../../api/state-descriptors.ts';
import type { KeyValue } from '../../api/functions.ts';
import { decodeValue } from '../../base/codec/value-codec.ts';
import type { StateHandle } from '../../protocol/snapshot.ts';
import { createStateHandles } from '../state-handles.ts';
import { MemoryOutput, memoryEnvironment } from '../test-support.ts';
import { restoreOperatorState } from '../snapshot/restore.ts';
import type { RestoredOperatorState } from './operator-state-backend.ts';
import { OperatorStateBackend } from './operator-state-backend.ts';

interface Subtask<S extends StateDeclaration> {
  readonly backend: OperatorStateBackend;
  readonly state: StateHandles<S>;
}

function subtaskOf<S extends StateDeclaration>(
  declaration: S,
  subtask = 0,
  parallelism = 1,
): Subtask<S> {
  const backend = new OperatorStateBackend({ operatorName: 'reader', subtask, parallelism });
  return { backend, state: createStateHandles(declaration, null, backend) };
}

/** Items of a snapshot by state, decoded. */
function itemsOf({ backend }: Subtask<StateDeclaration>): RestoredOperatorState[] {
  const output = new MemoryOutput();
  const states = backend.snapshot(output);
  const { bytes } = output.handle as StateHandle & { kind: 'inline' };
  return states.map(({ name, mode, items }) => ({
    name,
    mode,
    items: items.map(({ offset, sizeBytes }) =>
      decodeValue(bytes.subarray(offset, offset + sizeBytes)),
    ),
  }));
}

const UNION = { owners: unionListState<string>() };

/**
 * What each of `parallelism` subtasks holds after the union of these snapshots was given to all.
 */
function restoreUnion(
  old: readonly Subtask<typeof UNION>[],
  parallelism: number,
): Subtask<typeof UNION>[] {
  const items = old.flatMap((subtask) => itemsOf(subtask)[0]!.items);
  return Array.from({ length: parallelism }, (_, subtask) => {
    const fresh = subtaskOf(UNION, subtask, parallelism);
    fresh.backend.restore([{ name: 'owners', mode: 'union', items }]);
    return fresh;
  });
}

test('each item and each broadcast entry is a section of its own', () => {
  const subtask = subtaskOf({
    offsets: operatorListState<number>(),
    rules: broadcastState<KeyValue, string>(),
    none: operatorListState<number>(),
  });
  subtask.state.offsets.addAll([1, 2]);
  subtask.state.rules.put(['eu', 1], 'x');
  deepStrictEqual(itemsOf(subtask), [
    { name: 'offsets', mode: 'list', items: [1, 2] },
    { name: 'rules', mode: 'broadcast', items: [[['eu', 1], 'x']] },
    { name: 'none', mode: 'list', items: [] },
  ]);
});

test('restoring reads the items from the data of several old subtasks, in order', async () => {
  const declaration = { offsets: operatorListState<{ n: number }>() };
  const items = [0, 1].flatMap((subtask) => {
    const old = subtaskOf(declaration, subtask, 2);
    old.state.offsets.addAll([{ n: subtask }, { n: subtask + 10 }]);
    const output = new MemoryOutput();
    const [state] = old.backend.snapshot(output);
    const data = output.handle;
    return state!.items.map((section) => ({ data, section }));
  });
  const { backend, state } = subtaskOf(declaration);
  const restores = [{ name: 'offsets', mode: 'list' as const, items }];
  deepStrictEqual(await restoreOperatorState(memoryEnvironment(), backend, restores), []);
  deepStrictEqual(state.offsets.get(), [{ n: 0 }, { n: 10 }, { n: 1 }, { n: 11 }]);
});

test('an item of a union that its owner removes is gone for all [R062]', () => {
  const [first] = restoreUnion([], 1);
  first!.state.owners.add('K');
  const both = restoreUnion([first!], 2);
  for (const { state } of both) deepStrictEqual(state.owners.get(), ['K']);
  both[0]!.state.owners.update([]);
  for (const { state } of restoreUnion(both, 2)) deepStrictEqual(state.owners.get(), []);
});

test('a union does not multiply when it is restored again and again, at any parallelism', () => {
  let subtasks = restoreUnion([], 2);
  subtasks[0]!.state.owners.add('a');
  subtasks[1]!.state.owners.add('b');
  for (const parallelism of [2, 3, 1, 2]) {
    subtasks = restoreUnion(subtasks, parallelism);
    for (const { state } of subtasks) deepStrictEqual(state.owners.get().toSorted(), ['a', 'b']);
  }
  subtasks[1]!.state.owners.add('c');
  subtasks = restoreUnion(subtasks, 2);
  deepStrictEqual(subtasks[0]!.state.owners.get().toSorted(), ['a', 'b', 'c']);
});

test('an item that cannot be stored fails the snapshot, naming the state', () => {
  const subtask = subtaskOf({ offsets: operatorListState<unknown>() });
  subtask.state.offsets.add({ at: () => 1 });
  throws(() => itemsOf(subtask), {
    code: 'SERIALIZATION_FAILED',
    message: /^state "offsets" of reader: cannot store a function \(at at\)/,
  });
});

test('states that fit no more are refused when of another kind, dropped when not declared', () => {
  const { backend } = subtaskOf({ offsets: unionListState<number>() });
  throws(() => backend.restore([{ name: 'offsets', mode: 'list', items: [] }]), {
    code: 'STATE_INCOMPATIBLE',
    message: /"offsets" of reader was stored as list state and is declared as union/,
  });
  deepStrictEqual(backend.restore([{ name: 'gone', mode: 'list', items: [1, 2] }]), [
    'state "gone" of reader is declared no more: its 2 items were dropped',
  ]);
});

test('broadcast state is a map by the content of its keys', () => {
  const { state } = subtaskOf({ rules: broadcastState<KeyValue, number>() });
  strictEqual(state.rules.isEmpty, true);
  state.rules.put(['a', 1], 1);
  state.rules.put(['a', 1], 2);
  state.rules.put('b', 3);
  strictEqual(state.rules.get(['a', 1]), 2);
  deepStrictEqual([...state.rules.keys()], [['a', 1], 'b']);
  state.rules.remove('b');
  strictEqual(state.rules.has('b'), false);
  deepStrictEqual([...state.rules.values()], [2]);
  state.rules.clear();
  deepStrictEqual([...state.rules.entries()], []);
});

test('items that were read stay as they were read, whatever is added later', () => {
  const { state } = subtaskOf({ offsets: operatorListState<number>() });
  state.offsets.addAll([1, 2]);
  const read = state.offsets.get();
  state.offsets.addAll(state.offsets.get());
  deepStrictEqual(read, [1, 2]);
  deepStrictEqual(state.offsets.get(), [1, 2, 1, 2]);
});
