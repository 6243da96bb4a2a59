import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as layout from './snapshot-layout.ts';
import { execution } from './test-support.ts';

test('every attempt of every subtask has a data file of its own', () => {
  const names = [execution(0, 1), execution(0, 2), execution(1, 1)].map((ref) =>
    layout.dataFileName(ref),
  );
  assert.equal(new Set(names).size, 3);
  for (const name of names) assert.ok(layout.isDataFileName(name), name);
  assert.ok(layout.isDataFileName(layout.dataFileName(execution(0), '000012.sst')));
});

test('names that Weir does not give are not its own', () => {
  const foreign = ['x.data', 'notes.txt', '_metadata.data', `${'a'.repeat(32)}-0-1-1.data.bak`];
  for (const name of foreign) assert.equal(layout.isDataFileName(name), false, name);
  for (const name of ['chk-', 'chk-01', 'chk-0', 'chk-1a', 'chk--1', 'savepoint-1'])
    assert.equal(layout.parseCheckpointDirectoryName(name), null, name);
  for (const name of ['x.data', '0-x.data', '1-.data', '1-x'])
    assert.equal(layout.parseSharedFileName(name), null, name);
});

test('names are read back as they are given', () => {
  const directory = layout.checkpointDirectoryName(42);
  assert.equal(layout.parseCheckpointDirectoryName(directory), 42);
  assert.equal(layout.parseSharedFileName(layout.sharedFileName(42, 'sst-1')), 42);
});
