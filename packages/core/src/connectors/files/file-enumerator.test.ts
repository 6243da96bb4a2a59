import assert from 'node:assert/strict';
import test from 'node:test';
import { testEnvironment, writeText } from '../test-support.ts';
import { FileEnumerator } from './file-enumerator.ts';
import type { FileSplit } from './file-split.ts';

interface Enumeration {
  readonly enumerator: FileEnumerator;
  readonly events: string[];
  readonly assigned: FileSplit[];
  readonly advance: (ms: number) => Promise<void>;
  readonly add: (path: string) => Promise<void>;
}

async function enumerationOf(watchIntervalMs: number | null): Promise<Enumeration> {
  const environment = testEnvironment();
  const { fileSystem, clock } = environment;
  const events: string[] = [];
  const assigned: FileSplit[] = [];
  const add = (path: string): Promise<void> => writeText(fileSystem, path, 'x\n');
  await add('/in/a');
  await add('/in/b');
  const enumerator = new FileEnumerator(
    {
      ...environment,
      parallelism: 2,
      registeredReaders: () => [0, 1],
      assignSplits: (subtask, splits) => {
        assigned.push(...splits);
        events.push(...splits.map(({ path }) => `${subtask} ${path}`));
      },
      signalNoMoreSplits: (subtask) => void events.push(`${subtask} end`),
      sendEvent: () => undefined,
      fail: (error) => assert.fail(String(error)),
    },
    { path: '/in', watchIntervalMs, splitSizeBytes: null, compression: 'auto' },
    undefined,
  );
  await enumerator.start();
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  };
  return { enumerator, events, assigned, advance, add };
}

test('splits are handed out one at a time, then the end is told', async () => {
  const { enumerator, events } = await enumerationOf(null);
  for (const subtask of [1, 0, 1, 0]) enumerator.handleSplitRequest(subtask);
  assert.deepEqual(events, ['1 /in/a', '0 /in/b', '1 end', '0 end']);
  assert.deepEqual(enumerator.snapshotState().pending, []);
});

test('splits of a failed reader are handed out again, first', async () => {
  const { enumerator, events, assigned } = await enumerationOf(null);
  enumerator.handleSplitRequest(0);
  enumerator.addSplitsBack([{ ...assigned[0]!, position: 1 }]);
  const { pending } = enumerator.snapshotState();
  assert.deepEqual(
    pending.map(({ path, position }) => [path, position]),
    [
      ['/in/a', 1],
      ['/in/b', null],
    ],
  );
  enumerator.handleSplitRequest(1);
  assert.deepEqual(events, ['0 /in/a', '1 /in/a']);
});

test('while watching, readers wait for new files, and get them as they asked', async () => {
  const { enumerator, events, advance, add } = await enumerationOf(50);
  for (const subtask of [0, 1, 1, 0]) enumerator.handleSplitRequest(subtask);
  assert.deepEqual(events, ['0 /in/a', '1 /in/b']);
  await add('/in/c');
  await advance(49);
  assert.equal(events.length, 2);
  await advance(1);
  assert.deepEqual(events.slice(2), ['1 /in/c']);
  enumerator.close();
});

test('a reader that started again is not given what its former attempt asked for', async () => {
  const { enumerator, events, advance, add } = await enumerationOf(50);
  for (const subtask of [0, 1, 0, 1]) enumerator.handleSplitRequest(subtask);
  enumerator.addReader(0);
  await add('/in/c');
  await advance(50);
  assert.deepEqual(events.slice(2), ['1 /in/c']);
  enumerator.close();
});
