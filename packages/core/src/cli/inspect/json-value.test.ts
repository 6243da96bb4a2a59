import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toJsonText } from './json-value.ts';

test('what JSON lacks becomes an object with one field', () => {
  const cases: readonly (readonly [unknown, string])[] = [
    [{ a: 'x', b: [1, null, true] }, '{"a":"x","b":[1,null,true]}'],
    [12n, '{"$bigint":"12"}'],
    [[Number.NaN, -Infinity, -0], '[{"$number":"NaN"},{"$number":"-Infinity"},{"$number":"-0"}]'],
    [{ a: undefined }, '{"a":{"$undefined":true}}'],
    [new Date(0), '{"$date":"1970-01-01T00:00:00.000Z"}'],
    [new Date(Number.NaN), '{"$date":null}'],
    [new Map([[1n, new Set(['x'])]]), '{"$map":[[{"$bigint":"1"},{"$set":["x"]}]]}'],
    [new Uint8Array([1, 2]), '{"$bytes":"AQI="}'],
    [new Uint16Array([1]).buffer, '{"$bytes":"AQA="}'],
    [/a/i, '{"$regexp":"/a/i"}'],
    [new RangeError('no'), '{"$error":"no"}'],
  ];
  for (const [value, expected] of cases) assert.equal(toJsonText(value), expected);
});

test('a value inside itself ends, one that is there twice is written twice', () => {
  const cycle: { self?: unknown } = {};
  cycle.self = [cycle];
  assert.equal(toJsonText(cycle), '{"self":[{"$cycle":true}]}');
  const shared = { a: 1 };
  assert.equal(toJsonText([shared, shared]), '[{"a":1},{"a":1}]');
});
