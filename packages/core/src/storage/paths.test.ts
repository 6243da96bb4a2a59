import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  baseName,
  joinPath,
  parentPath,
  parseUserPath,
  resolvePath,
  userPathAdvice,
} from './paths.ts';

test('joining removes doubled and trailing slashes and resolves dots', () => {
  assert.equal(joinPath('/a/', '/b//c/', './d'), '/a/b/c/d');
  assert.equal(joinPath('/a/b', '../c'), '/a/c');
  assert.equal(joinPath('/', '..', '..'), '/');
});

test('an absolute path stays, a relative one is seen from the directory', () => {
  assert.equal(resolvePath('/a/chk-1', '../shared/x'), '/a/shared/x');
  assert.equal(resolvePath('/a/chk-1', '/b/x'), '/b/x');
});

test('parent and base name are the two parts of a path', () => {
  assert.deepEqual([parentPath('/a/b'), baseName('/a/b')], ['/a', 'b']);
  assert.deepEqual([parentPath('/a/'), baseName('/a/')], ['/', 'a']);
  assert.equal(parentPath('/'), '/');
});

test('a user may write a path or a file: URI', () => {
  const parsed = (text: string): string | null => parseUserPath(text, '/here');
  assert.equal(parsed('chk-5'), '/here/chk-5');
  assert.equal(parsed('/data/chk-5/'), '/data/chk-5');
  assert.equal(parsed('file:///data/a%20b'), '/data/a b');
  assert.equal(parsed('file:/data/x'), '/data/x');
  assert.equal(parsed('FILE://localhost/data/x'), '/data/x');
});

test('other schemes, other hosts and broken escapes are no path', () => {
  const broken = ['s3://bucket/x', 'hdfs:///x', 'file://host/x', 'file:x', 'file:///%zz'];
  for (const text of broken) assert.equal(parseUserPath(text, '/here'), null, text);
});

test('of what is no path it is said how to write it', () => {
  for (const text of ['file:sp', 'file://sp', 'FILE:sp'])
    assert.equal(
      userPathAdvice(text),
      'a file: URI must be absolute (file:///…); a plain path may be relative: sp',
    );
  assert.match(userPathAdvice('file:../sp'), /relative: \.\.\/sp$/);
  assert.match(userPathAdvice('file:///%zz'), /a percent sign stands as %25/);
  assert.match(userPathAdvice('s3://bucket/x'), /give a path, or a file: URI of this machine/);
});
