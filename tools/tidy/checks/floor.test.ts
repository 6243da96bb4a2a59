import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositoryOf } from '../repository.ts';
import { floor, floorText } from './floor.ts';

const FLOOR = 'tools/tidy/floor.json';

test('fewer files than recorded, no record and a wrong record are reported', () => {
  for (const text of ['{"sources": 3}', '{}', '{"sources": 0}']) {
    const repository = repositoryOf({ [FLOOR]: text, 'tools/a.ts': '', 'tools/b.ts': '' });
    assert.equal(floor.run(repository).length, 1, text);
  }
  assert.equal(floor.run(repositoryOf({ 'tools/a.ts': '' })).length, 1);
});

test('as many files as recorded, or more, are fine', () => {
  const repository = repositoryOf({ [FLOOR]: '{"sources": 1}', 'tools/a.ts': '', 'b.js': '' });
  assert.deepEqual(floor.run(repository), []);
  assert.equal(floorText(repository), '{ "sources": 2 }\n');
});
