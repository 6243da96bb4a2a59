import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toTextOf } from './value-text.ts';

function text(typeName: string, value: unknown, isArray = false, shownType = typeName): string {
  return toTextOf({ typeName, isArray, shownType })(value);
}

test('whole numbers keep every digit, and what does not fit is refused with the limits', () => {
  assert.equal(text('int2', -32_768), '-32768');
  assert.equal(text('int8', 9_223_372_036_854_775_807n), '9223372036854775807');
  assert.equal(text('int8', '9007199254740993'), '9007199254740993');
  assert.throws(() => text('int2', 32_768), /32768 is not a whole number from -32768 to 32767/);
  assert.throws(() => text('int4', 1.5), /1\.5 is not a whole number/);
  assert.throws(() => text('int8', 2 ** 53), /9007199254740992 is not/, 'a number may be rounded');
  assert.throws(() => text('int8', 2n ** 63n), /9223372036854775808n is not/);
  assert.throws(() => text('int4', '12a'), /"12a" is not a whole number/);
});

test('fractions: -0, NaN and infinity survive, and exact numbers keep their digits', () => {
  assert.equal(text('float8', -0), '-0');
  assert.equal(text('float8', Number.NaN), 'NaN');
  assert.equal(text('float8', -Infinity), '-Infinity');
  assert.equal(text('numeric', '0.10000000000000000000001'), '0.10000000000000000000001');
  assert.equal(text('numeric', 10n ** 30n), `1${'0'.repeat(30)}`);
  assert.throws(() => text('float8', '1.5'), /"1\.5" is not a number/);
  assert.throws(() => text('numeric', 'ten'), /"ten" is not a number/);
});

test('dates are written in UTC, and an invalid one is refused', () => {
  const date = new Date(Date.UTC(2024, 1, 29, 23, 59, 59, 7));
  assert.equal(text('date', date), '2024-02-29');
  assert.equal(text('timestamp', date), '2024-02-29T23:59:59.007');
  assert.equal(text('timestamptz', date), '2024-02-29T23:59:59.007Z');
  assert.equal(text('timestamptz', '2024-02-30'), '2024-02-30', 'the server decides on strings');
  assert.throws(() => text('date', new Date(Number.NaN)), /the date is invalid/);
  assert.throws(() => text('timestamptz', 5), /5 is not a string/);
});

test('what the server would change in silence is refused', () => {
  assert.throws(() => text('text', 'a\ud800'), /half a character/);
  assert.equal(text('text', '😀'), '😀');
  assert.equal(text('varchar', '😀😀', false, 'character varying(2)'), '😀😀');
  assert.throws(() => text('varchar', 'abc', false, 'character varying(2)'), /"abc" has 3 char/);
  assert.equal(text('varchar', 'ab  ', false, 'character varying(2)'), 'ab  ', 'as SQL has it');
  assert.throws(() => text('bpchar', ['abc'], true, 'character(2)[]'), /has 3 characters/);
  for (const zone of ['+02', '-0330', '+05:30'])
    assert.throws(() => text('timestamp', `2024-01-01 10:00:00${zone}`), /has a time zone/);
  for (const time of [
    '2024-01-01',
    '2024-01-01 10:00:00',
    '2024-01-01T10:00Z',
    '2024-01-01 10:00+00',
  ])
    assert.equal(text('timestamp', time), time);
  assert.equal(text('timestamptz', '2024-01-01 10:00+02'), '2024-01-01 10:00+02');
  for (const lossy of [Number.NaN, [Infinity], new Map(), { a: new Set() }, Promise.resolve(1)])
    assert.throws(() => text('jsonb', lossy), /in it is nothing that JSON knows/);
  assert.equal(text('jsonb', { a: [null], b: {} }), '{"a":[null],"b":{}}');
});

test('U+0000 is not found where a text only speaks of it', () => {
  assert.equal(text('jsonb', '\\u0000'), '"\\\\u0000"');
  assert.throws(() => text('jsonb', '\\\0'), /U\+0000/);
  assert.throws(() => text('jsonb', { '\0': 1 }), /U\+0000/);
});

test('texts, bytes, JSON and arrays', () => {
  assert.equal(text('text', 'a\tb\\'), 'a\tb\\');
  assert.throws(() => text('text', 5), /5 is not a string/);
  assert.throws(() => text('text', 'a\0'), /U\+0000/);
  assert.equal(text('bool', false), 'f');
  assert.throws(() => text('bool', 0), /0 is not true or false/);
  assert.equal(text('bytea', new Uint8Array([0, 255])), '\\x00ff');
  assert.equal(text('jsonb', { a: [1, null] }), '{"a":[1,null]}');
  assert.throws(() => text('json', () => 1), /is not a value that JSON knows/);
  assert.throws(() => text('jsonb', '\0'), /U\+0000/);
  assert.throws(() => text('jsonb', { '\\\0': 1 }), /U\+0000/);
  assert.equal(text('jsonb', '\\u0000'), '"\\\\u0000"', 'a backslash and five characters');
  for (const type of ['text', 'jsonb', 'inet'])
    assert.throws(() => text(type, 'a\ud83d'), /half a character/);
  assert.equal(text('text', 'a\ud83d\ude00'), 'a😀');
  assert.equal(text('text', ['a"b', null, 'NULL', '\\'], true), '{"a\\"b",NULL,"NULL","\\\\"}');
  assert.equal(text('int4', [[1], [2]], true), '{{"1"},{"2"}}');
  assert.equal(text('jsonb', [[1, 'a'], { b: 2 }], true), '{"[1,\\"a\\"]","{\\"b\\":2}"}');
  assert.throws(() => text('int4', 1, true), /1 is not an array/);
  assert.throws(() => text('int4', ['x'], true), /"x" is not a whole number/);
  assert.equal(text('inet', '10.0.0.1'), '10.0.0.1', 'a type that is not known here');
});
