import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { FaultyFileSystem } from './faulty-file-system.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import { storageErrno } from './storage-error.ts';
import { runWithClock } from './test-support.ts';

function setUp(): { clock: ManualClock; memory: MemoryFileSystem; disk: FaultyFileSystem } {
  const clock = new ManualClock();
  const memory = new MemoryFileSystem();
  return { clock, memory, disk: new FaultyFileSystem(clock, memory) };
}

test('a fault hits the nth operation that fits, as often as asked', async () => {
  const { disk } = setUp();
  disk.inject({ operation: 'makeDirectory', path: '/a', skip: 1, times: 2, errno: 'EIO' });
  const outcomes: unknown[] = [];
  for (let i = 0; i < 4; i++) {
    await disk.makeDirectory('/b');
    outcomes.push(await disk.makeDirectory('/a').then(() => 'made', storageErrno));
  }
  assert.deepEqual(outcomes, ['made', 'EIO', 'EIO', 'made']);
});

test('a lost answer is an error although the operation happened', async () => {
  const { disk, memory } = setUp();
  disk.inject({ operation: 'makeDirectory', errno: 'EIO', answerLost: true });
  await assert.rejects(disk.makeDirectory('/a'));
  assert.notEqual(await memory.stat('/a'), null);
});

test('a slow operation waits for the clock', async () => {
  const { disk, memory, clock } = setUp();
  disk.inject({ operation: 'makeDirectory', delayMs: 5_000 });
  const made = disk.makeDirectory('/a');
  await Promise.resolve();
  assert.equal(await memory.stat('/a'), null);
  await runWithClock(clock, made);
  assert.notEqual(await memory.stat('/a'), null);
});

test('writers and readers fail as well', async () => {
  const { disk } = setUp();
  disk.inject({ operation: 'write', skip: 1, errno: 'ENOSPC' });
  const writer = await disk.create('/a');
  await writer.write(Buffer.from('x'));
  await assert.rejects(writer.write(Buffer.from('y')), (e) => storageErrno(e) === 'ENOSPC');
});

test('after the stop nothing takes effect and nothing answers', async () => {
  const { disk, memory } = setUp();
  disk.stopAfter(1);
  await disk.makeDirectory('/a');
  let answered = false;
  void disk.makeDirectory('/b').finally(() => {
    answered = true;
  });
  for (let i = 0; i < 20; i++) await Promise.resolve();
  assert.equal(answered, false);
  assert.equal(disk.isStopped, true);
  assert.equal(await memory.stat('/b'), null);
});
