import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mismatchOf, missingFields, shapeOf, shapeText } from './value-shape.ts';

function compared(stored: unknown, declared: unknown): string | null {
  const mismatch = mismatchOf(shapeOf(stored), shapeOf(declared));
  return mismatch === null ? null : `${mismatch.path}: ${mismatch.stored} -> ${mismatch.declared}`;
}

test('values of every kind have a name as a programmer would say it', () => {
  const values: readonly (readonly [unknown, string])[] = [
    [1, 'number'],
    ['', 'string'],
    [1n, 'bigint'],
    [false, 'boolean'],
    [null, 'null'],
    [undefined, 'undefined'],
    [[1], 'Array'],
    [new Date(0), 'Date'],
    [new Map(), 'Map'],
    [new Set(), 'Set'],
    [new Float64Array(1), 'Float64Array'],
    [{ n: 1, at: { x: '' } }, '{ n: number, at: { x: string } }'],
    [Object.create(null), '{}'],
  ];
  for (const [value, text] of values) assert.equal(shapeText(shapeOf(value)), text);
});

test('a value of another kind does not fit, nothing fits anything', () => {
  assert.equal(compared(1, { n: 1 }), ': number -> { n: number }');
  assert.equal(compared('1', 1), ': string -> number');
  assert.equal(compared(1, 1n), ': number -> bigint');
  assert.equal(compared([], new Map()), ': Array -> Map');
  assert.equal(compared(null, 1), null);
  assert.equal(compared(1, undefined), null);
});

test('fields that both have must be of one kind, others may be optional', () => {
  assert.equal(compared({ n: 1 }, { n: '' }), 'n: number -> string');
  assert.equal(compared({ a: { b: 1 } }, { a: { b: {} } }), 'a.b: number -> {}');
  assert.equal(compared({ n: 1, old: '' }, { n: 0, fresh: '' }), null);
  assert.equal(compared({ n: 1 }, { n: null }), null);
  assert.deepEqual(missingFields(shapeOf({ n: 1 }), shapeOf({ n: 0, label: '', maybe: null })), [
    'label',
  ]);
});

test('an object without any of the fields that are declared is another type', () => {
  assert.equal(compared({ n: 1 }, { count: 0 }), ': { n: number } -> { count: number }');
  assert.equal(compared({}, { count: 0 }), null);
  assert.equal(compared({ n: 1 }, {}), null, 'a dictionary begins empty');
});

test('wide and deep objects are taken for data', () => {
  const wide = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`k${i}`, i]));
  assert.equal(shapeText(shapeOf(wide)), 'object');
  assert.equal(compared(wide, { k0: '' }), null);
  assert.equal(compared(wide, 1), ': object -> number');
  const deep = { a: { b: { c: { d: 1 } } } };
  assert.equal(shapeText(shapeOf(deep)), '{ a: { b: { c: object } } }');
});
