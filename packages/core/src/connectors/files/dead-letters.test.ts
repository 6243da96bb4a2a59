import assert from 'node:assert/strict';
import test from 'node:test';
import { FaultyFileSystem } from '../../storage/faulty-file-system.ts';
import { MemoryFileSystem } from '../../storage/memory-file-system.ts';
import { settle, testEnvironment } from '../test-support.ts';
import { DeadLetters } from './dead-letters.ts';
import type { FileSplit } from './file-split.ts';

const SPLIT: FileSplit = {
  id: '/in.txt',
  path: '/in.txt',
  start: 0,
  end: null,
  sizeBytes: 0,
  gzip: false,
  position: null,
  deadLetters: [],
};
const FULL = 1000;

interface Slow {
  readonly letters: DeadLetters;
  readonly disk: MemoryFileSystem;
  /** Lets one delayed write of a file happen. */
  readonly step: () => Promise<void>;
  readonly fill: (from: number, count: number) => void;
}

function slowLetters(): Slow {
  const disk = new MemoryFileSystem();
  const environment = testEnvironment(disk);
  const slow = new FaultyFileSystem(environment.clock, disk);
  slow.inject({ operation: 'create', delayMs: 10, times: 1000 });
  const letters = new DeadLetters(
    { ...environment, fileSystem: slow },
    '/bad',
    SPLIT,
    () => undefined,
  );
  return {
    letters,
    disk,
    step: async () => {
      await settle();
      environment.clock.advance(10);
      await settle();
    },
    fill: (from, count) => {
      for (let index = from; index < from + count; index++) letters.add(index, String(index));
    },
  };
}

async function lettersOn(disk: MemoryFileSystem): Promise<number[]> {
  const found: number[] = [];
  for (const name of await disk.list('/bad'))
    if (!name.startsWith('.'))
      found.push(
        ...Buffer.from(await disk.readFile(`/bad/${name}`))
          .toString()
          .split('\n')
          .slice(0, -1)
          .map(Number),
      );
  return found.toSorted((a, b) => a - b);
}

const numbersTo = (end: number): number[] => Array.from({ length: end }, (_, index) => index);

test('the reader has to wait while two full segments are not on disk', async () => {
  const { letters, disk, step, fill } = slowLetters();
  fill(0, FULL);
  assert.ok(!letters.isFull, 'one is being written');
  fill(FULL, FULL);
  assert.ok(letters.isFull);
  assert.equal(letters.snapshot().length, 2, 'both are part of a checkpoint');
  await step();
  assert.ok(!letters.isFull);
  assert.equal(letters.snapshot().length, 1);
  await step();
  assert.ok(letters.isDone);
  assert.deepEqual(await lettersOn(disk), numbersTo(2 * FULL));
});

test('a segment that gets full while its beginning is written is written again', async () => {
  const { letters, disk, step, fill } = slowLetters();
  fill(0, 1);
  letters.flush();
  await settle();
  fill(1, FULL - 1);
  await step();
  assert.deepEqual(await lettersOn(disk), [0]);
  assert.equal(letters.snapshot()[0]?.lines.length, FULL, 'not given up before it is on disk');
  await step();
  assert.deepEqual(await lettersOn(disk), numbersTo(FULL));
  assert.ok(letters.isDone);
});

test('restored letters are written under the same name as before', async () => {
  const { letters, disk, step, fill } = slowLetters();
  fill(7, 3);
  const deadLetters = structuredClone(letters.snapshot());
  letters.finish();
  await step();
  const names = await disk.list('/bad');
  assert.equal(names.length, 1);
  const environment = testEnvironment(disk);
  const again = new DeadLetters(environment, '/bad', { ...SPLIT, deadLetters }, () => undefined);
  again.finish();
  await settle();
  assert.ok(again.isDone);
  assert.deepEqual(await disk.list('/bad'), names);
  assert.deepEqual(await lettersOn(disk), [7, 8, 9]);
});
