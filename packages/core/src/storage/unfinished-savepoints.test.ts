import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { dataFileName } from './snapshot-layout.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import { writeFileDurably } from './durable-file.ts';
import { execution } from './test-support.ts';
import { removeUnfinishedSavepoints } from './unfinished-savepoints.ts';

const X = new TextEncoder().encode('x');

test('only what is not complete and Weir has written is removed, and told', async () => {
  const fileSystem = new MemoryFileSystem();
  const warnings: string[] = [];
  const warn = (message: string): void => void warnings.push(message);
  for (const name of ['half', 'whole', 'foreign']) {
    await fileSystem.makeDirectory(`/sp/${name}`);
    await writeFileDurably(fileSystem, `/sp/${name}/${dataFileName(execution(0))}`, X);
  }
  await writeFileDurably(fileSystem, '/sp/half/.metadata.inprogress', X);
  await writeFileDurably(fileSystem, '/sp/whole/_metadata', X);
  await writeFileDurably(fileSystem, '/sp/foreign/notes.txt', X);
  const io = { fileSystem, clock: new ManualClock(), warn };
  const paths = ['/sp/half', '/sp/whole', '/sp/foreign', '/sp/gone'];
  await removeUnfinishedSavepoints(io, paths);
  assert.deepEqual((await fileSystem.list('/sp')).toSorted(), ['foreign', 'whole']);
  assert.equal((await fileSystem.list('/sp/whole')).length, 2);
  assert.deepEqual(await fileSystem.list('/sp/foreign'), ['notes.txt']);
  assert.deepEqual(warnings, [
    'removed /sp/half: the earlier run died before that savepoint was complete',
    '/sp/foreign holds no complete savepoint, but files that Weir did not write: ' +
      '/sp/foreign/notes.txt',
  ]);
});
