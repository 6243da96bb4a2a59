import { deepStrictEqual, notStrictEqual, strictEqual, throws } from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { KeyValue } from '../api/functions.ts';
import { keyOfMapKey, mapKeyOf, withMapKeys, withTupleKeys } from './map-key.ts';

const primitive = fc.oneof(
  fc.string(),
  fc.string().map((text) => `\u0001${text}`),
  fc.constantFrom('\u0001t', '\u0001s', '\u0001t[s1:a]', '[', ';'),
  fc.double({ noNaN: true }).map((number) => (number === 0 ? 0 : number)),
  fc.bigInt(),
  fc.boolean(),
);
const { key } = fc.letrec<{ key: KeyValue }>((tie) => ({
  key: fc.oneof({ maxDepth: 3 }, primitive, fc.array(tie('key'), { maxLength: 4 })),
}));

test('a key comes back from its map key', () => {
  fc.assert(fc.property(key, (each) => deepStrictEqual(keyOfMapKey(mapKeyOf(each)), each)));
});

test('two keys have one map key only if they are equal', () => {
  const pair = fc.tuple(key, key);
  fc.assert(
    fc.property(pair, ([a, b]) => {
      const same = JSON.stringify(tagged(a)) === JSON.stringify(tagged(b));
      strictEqual(mapKeyOf(a) === mapKeyOf(b), same);
    }),
  );
  notStrictEqual(mapKeyOf(['a', 'b']), mapKeyOf(['a,b']));
  notStrictEqual(mapKeyOf(['\u0001t']), mapKeyOf('\u0001t[s2:\u0001t]'));
  notStrictEqual(mapKeyOf([1]), mapKeyOf(['1']));
});

function tagged(each: KeyValue): unknown {
  return Array.isArray(each) ? each.map(tagged) : `${typeof each}:${String(each)}`;
}

test('plain keys stand for themselves', () => {
  for (const each of ['a', '', 0, 1.5, 7n, true, null, undefined])
    strictEqual(mapKeyOf(each), each);
});

test('a map is stored with its keys as they are, and copied only when they differ', () => {
  const plain = new Map([['a', 1]]);
  strictEqual(withTupleKeys(plain), plain);
  strictEqual(withMapKeys(plain), plain);
  const keys: KeyValue[] = ['a', ['b', 2], '\u0001c'];
  const map = new Map(keys.map((each, i) => [mapKeyOf(each), i]));
  const stored = withTupleKeys(map);
  deepStrictEqual([...stored.keys()], keys);
  deepStrictEqual(withMapKeys(stored), map);
});

test('what cannot be told apart by its content is no key', () => {
  throws(() => mapKeyOf({ a: 1 }), { code: 'KEY_INVALID' });
  throws(() => mapKeyOf([null]), /null in a tuple cannot be a key of state; use a string/);
  throws(() => mapKeyOf(Symbol('s')), { code: 'KEY_INVALID' });
});
