import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigurationError, messageOf, toErrorInfo, UserFunctionError } from './errors.ts';

/** Its message cannot be had. */
function evil(): Error {
  return Object.defineProperty(new Error(), 'message', {
    get() {
      throw new Error('not that way');
    },
  });
}

test('whatever was thrown has a message', () => {
  const cases: [unknown, string][] = [
    [new Error('broken'), 'broken'],
    ['just text', 'just text'],
    [undefined, 'undefined'],
    [Symbol('s'), 'Symbol(s)'],
    [{ code: 5, reason: 'gone' }, '{"code":5,"reason":"gone"}'],
    [{ code: 5, message: 'gone' }, 'gone'],
    [Object.create(null), '{}'],
    [{ n: 1n }, 'an object that cannot be shown'],
    [evil(), 'an object that cannot be shown'],
    [{ text: 'x'.repeat(5000) }, `{"text":"${'x'.repeat(191)}…`],
  ];
  for (const [thrown, message] of cases) assert.equal(messageOf(thrown), message);
});

test('no password of an address is in what is told of an error', () => {
  const url = 'amqp://me:hidden@host/in';
  const cause = new Error(`no answer of ${url}`);
  const wrong = new ConfigurationError(`${url} is wrong`, { cause });
  for (const thrown of [wrong, cause, url, { url }]) {
    assert.match(messageOf(thrown), /amqp:\/\/me:\*\*\*@host\/in/);
    assert.doesNotMatch(JSON.stringify(toErrorInfo(thrown)), /hidden/);
  }
  assert.doesNotMatch(String(wrong), /hidden/, 'also where it is thrown');
});

test('whatever was thrown can be told to another thread', () => {
  for (const cause of [evil(), Object.create(null), { n: 1n }, null]) {
    const info = toErrorInfo(new UserFunctionError('map threw', { cause }));
    assert.equal(info.message, 'map threw');
    assert.equal(structuredClone(info).causes.length, 1);
  }
});
