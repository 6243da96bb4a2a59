import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskArguments, maskSecrets, maskValue } from './mask-secrets.ts';

test('the password of an address is masked, its user and place stay', () => {
  const cases = {
    'postgres://u:secret@host:5432/db': 'postgres://u:***@host:5432/db',
    'redis://:secret@host/0': 'redis://:***@host/0',
    'https://u:secret@host/hook?a=1': 'https://u:***@host/hook?a=1',
    'postgres://me@corp.com:secret@host/db': 'postgres://me@corp.com:***@host/db',
    'mongodb://u:s%40cret@a:1,b:2/db': 'mongodb://u:***@a:1,b:2/db',
    'redis://u:secret@[::1]:6379': 'redis://u:***@[::1]:6379',
  };
  for (const [given, shown] of Object.entries(cases)) {
    assert.equal(maskSecrets(given), shown);
    assert.equal(maskValue(given), shown);
    assert.equal(maskSecrets(`at ${given} nobody answers`), `at ${shown} nobody answers`);
  }
});

test('a password that should have been encoded is masked as a whole', () => {
  assert.equal(maskValue('postgres://u:se/cr@t#1?@host/db'), 'postgres://u:***@host/db');
  assert.equal(maskValue('postgres://u:two "words"@host/db'), 'postgres://u:***@host/db');
});

test('a token alone before a web address is masked', () => {
  assert.equal(maskSecrets('https://gho_secret@host/repo'), 'https://***@host/repo');
  assert.equal(maskSecrets('postgres://user@host/db'), 'postgres://user@host/db');
});

test('a login without a scheme is masked where it is a whole value', () => {
  assert.equal(maskValue('user:secret@host:6379'), 'user:***@host:6379');
  assert.equal(maskValue(':secret@host:6379'), ':***@host:6379');
  assert.equal(maskValue('proxy=user:secret@host:6379'), 'proxy=user:***@host:6379');
});

test('several addresses in one value are masked one by one', () => {
  const given = 'redis://a:one@x:1,redis://b:two@y:2';
  assert.equal(maskValue(given), 'redis://a:***@x:1,redis://b:***@y:2');
});

test('parameters and settings are masked by their names', () => {
  const cases = {
    'https://h/a?access_token=x1&n=2': 'https://h/a?access_token=***&n=2',
    'postgres://h/db?user=u&password=x1': 'postgres://h/db?user=u&password=***',
    "host=h password='x 1' user=u": 'host=h password=*** user=u',
    '{"user":"u","password":"x\\"1"}': '{"user":"u","password":"***"}',
  };
  for (const [given, shown] of Object.entries(cases)) assert.equal(maskValue(given), shown);
  assert.equal(maskValue('s3.secret-key=a b'), 's3.secret-key=***');
  assert.equal(maskValue('Authorization: Bearer x1'), 'Authorization: ***');
});

test('what holds no secret is left as it is', () => {
  const given = [
    'https://host:8080/@scope/name',
    'http://[::1]:8080/a@b',
    'file:///home/me/a:b.txt',
    'mailto:me@corp.com',
    'git@github.com:org/repo',
    'localhost:9092,other:9092',
    'orders.ndjson',
    'key=value',
    'give redis://user@host:port/database; @ is written as %40',
    '{"name":"a:b","mail":"me@corp.com"}',
  ];
  for (const text of given) assert.equal(maskValue(text), text);
});

test('arguments are masked by their names, as one word and as two', () => {
  const masked = (line: string): string => maskArguments(line.split(' ')).join(' ');
  for (const name of ['password', 'db-password', 'token', 'clientSecret', 'api-key', 'apiKey']) {
    assert.equal(masked(`--${name} x1 --rate 5`), `--${name} *** --rate 5`);
    assert.equal(masked(`--${name}=x1 --rate 5`), `--${name}=*** --rate 5`);
    assert.equal(masked(`-${name} x1`), `-${name} ***`);
  }
  assert.equal(masked('--password x1 --password x2'), '--password *** --password ***');
  assert.equal(masked('--database redis://u:x1@h'), '--database redis://u:***@h');
  assert.equal(masked('--database=redis://u:x1@h'), '--database=redis://u:***@h');
});

test('names that only sound like a secret hide nothing', () => {
  const words = ['--password-file', 'a', '--tokenizer', 'b', '--key', 'c', '--secret', '--rate=5'];
  assert.deepEqual(maskArguments(words), words);
});
