import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { KeyValue } from '../../api/functions.ts';
import { listState, mapState, valueState } from '../../api/state-descriptors.ts';
import type { OperatorRestore } from '../../protocol/messages.ts';
import type { KeyedSnapshotCursor } from '../keyed-state-backend.ts';
import { restoreKeyed } from '../snapshot/restore.ts';
import type { KeyedSubtask } from '../test-support.ts';
import { MemoryOutput, finishSnapshot, keyedSubtask, memoryEnvironment } from '../test-support.ts';

const DECLARATION = {
  total: valueState<unknown>(),
  events: listState<unknown>(),
  byDay: mapState<KeyValue, unknown>(),
  // Beyond the slots that an entry has in itself.
  spare1: valueState<unknown>(),
  spare2: valueState<unknown>(),
  spare3: valueState<unknown>(),
};
type Subtask = KeyedSubtask<typeof DECLARATION>;

/** What the handles of a key should give. */
interface ModelEntry {
  total: unknown;
  last: unknown;
  readonly events: unknown[];
  readonly byDay: Map<string, unknown>;
}
type Model = Map<string, ModelEntry>;

/** Snapshots that are being written, with the model as it was when they started. */
interface Running {
  readonly cursor: KeyedSnapshotCursor;
  readonly output: MemoryOutput;
  readonly expected: Model;
}

const KEYS: readonly KeyValue[] = [
  0,
  1,
  2,
  -7,
  -(2 ** 31),
  2 ** 31,
  2 ** 53,
  1.5,
  3n,
  true,
  'a',
  'b',
  '\u0001s',
  ['a', 1],
  [['a'], 1],
];
const DAYS: readonly KeyValue[] = [1, 'monday', '\u0001t[', ['week', 2n]];

const value = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.string(),
  fc.constantFrom(null, undefined, -0, 2 ** 53, 2n ** 70n, ''),
  fc.record({ n: fc.nat() }),
);
const key = fc.constantFrom(...KEYS);
const command = fc.oneof(
  fc.record({ type: fc.constant('update' as const), key, value }),
  fc.record({ type: fc.constant('mutate' as const), key, value }),
  fc.record({ type: fc.constant('last' as const), key, value }),
  fc.record({ type: fc.constant('add' as const), key, value }),
  fc.record({ type: fc.constant('put' as const), key, day: fc.constantFrom(...DAYS), value }),
  fc.record({ type: fc.constant('remove' as const), key, day: fc.constantFrom(...DAYS) }),
  fc.record({ type: fc.constant('clear' as const), key }),
  fc.record({ type: fc.constant('read' as const), key }),
  fc.record({ type: fc.constant('start' as const) }),
  fc.record({
    type: fc.constant('step' as const),
    which: fc.nat(),
    entries: fc.integer({ min: 1, max: 4 }),
  }),
  fc.record({ type: fc.constant('abort' as const), which: fc.nat() }),
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

class World {
  readonly subtask: Subtask;
  readonly model: Model = new Map();
  running: Running[] = [];

  constructor(entriesPerMap: number) {
    this.subtask = keyedSubtask(DECLARATION, { entriesPerMap });
  }

  run(step: Command): void {
    if (step.type === 'start') this.#start();
    else if (step.type === 'step' || step.type === 'abort') this.#onSnapshot(step);
    else this.#onKey(step);
    strictEqual(this.subtask.backend.keyCount, this.model.size);
  }

  #start(): void {
    const output = new MemoryOutput();
    const cursor = this.subtask.backend.startSnapshot(output);
    this.running.push({ cursor, output, expected: structuredClone(this.model) });
  }

  #onSnapshot(step: Command & { type: 'step' | 'abort' }): void {
    const running = this.running[step.which % Math.max(1, this.running.length)];
    if (running === undefined) return;
    if (step.type === 'step') {
      running.cursor.step(step.entries);
    } else {
      running.cursor.release();
      this.running = this.running.filter((each) => each !== running);
    }
  }

  #onKey(step: Exclude<Command, { type: 'start' | 'step' | 'abort' }>): void {
    const { backend, state } = this.subtask;
    backend.setCurrentKey(step.key);
    const name = nameOf(step.key);
    const entry = this.model.get(name) ?? newEntry();
    deepStrictEqual(read(state), entry);
    switch (step.type) {
      case 'update':
        state.total.update(structuredClone(step.value));
        entry.total = structuredClone(step.value);
        break;
      case 'mutate':
        // Against the types; it must not reach snapshots that started before.
        if (typeof entry.total !== 'object' || entry.total === null) break;
        (state.total.value as { n: unknown }).n = step.value;
        (entry.total as { n: unknown }).n = step.value;
        break;
      case 'last':
        state.spare3.update(step.value);
        entry.last = step.value;
        break;
      case 'add':
        state.events.add(step.value);
        entry.events.push(step.value);
        break;
      case 'put':
        state.byDay.put(step.day, step.value);
        entry.byDay.set(nameOf(step.day), step.value);
        break;
      case 'remove':
        state.byDay.remove(step.day);
        entry.byDay.delete(nameOf(step.day));
        break;
      case 'clear':
        for (const handle of Object.values(state)) handle.clear();
        this.model.delete(name);
        return;
      case 'read':
        return;
    }
    if (isEmpty(entry)) this.model.delete(name);
    else this.model.set(name, entry);
  }
}

function nameOf(each: KeyValue): string {
  return JSON.stringify(each, (_, part) => (typeof part === 'bigint' ? `${part}n` : part));
}

function newEntry(): ModelEntry {
  return { total: undefined, last: undefined, events: [], byDay: new Map() };
}

function isEmpty({ total, last, events, byDay }: ModelEntry): boolean {
  return total === undefined && last === undefined && events.length === 0 && byDay.size === 0;
}

/** The state of the current key, as a user sees it. */
function read(state: Subtask['state']): ModelEntry {
  const byDay = new Map(Array.from(state.byDay.entries(), ([day, each]) => [nameOf(day), each]));
  const last = state.spare3.value;
  return { total: state.total.value, last, events: [...state.events.get()], byDay };
}

/** Restores a snapshot at some parallelism; gives the state of all keys of all subtasks. */
async function restored(
  part: OperatorRestore['keyed'][number],
  parallelism: number,
): Promise<Model> {
  const model: Model = new Map();
  for (let index = 0; index < parallelism; index++) {
    const subtask = keyedSubtask(DECLARATION, { parallelism, subtask: index });
    deepStrictEqual(await restoreKeyed(memoryEnvironment(), subtask.backend, [part]), []);
    let keyCount = 0;
    for (const each of KEYS) {
      subtask.backend.setCurrentKey(each);
      const entry = read(subtask.state);
      if (isEmpty(entry)) continue;
      keyCount++;
      strictEqual(model.has(nameOf(each)), false);
      model.set(nameOf(each), entry);
    }
    strictEqual(subtask.backend.keyCount, keyCount);
  }
  return model;
}

test('each of several snapshots holds the state it started at, at any parallelism', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(command, { minLength: 5, maxLength: 80, size: 'max' }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 10 }),
      async (commands, parallelism, entriesPerMap) => {
        const world = new World(entriesPerMap);
        for (const step of commands) world.run(step);
        for (const { output, cursor, expected } of world.running) {
          const part = finishSnapshot(world.subtask, output, cursor);
          strictEqual(part.snapshot.keyed?.keyCount, expected.size);
          deepStrictEqual(await restored(part, parallelism), expected);
        }
      },
    ),
    { numRuns: 300 },
  );
});
