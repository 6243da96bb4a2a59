import assert from 'node:assert/strict';
import test from 'node:test';
import { csv } from './csv.ts';
import { lines } from './lines.ts';
import { ndjson } from './ndjson.ts';

test('a line is its own record', () => {
  assert.equal(lines().createDecoder(null)(' a b '), ' a b ');
  assert.equal(lines().createEncoder().encode('x'), 'x');
  const notText = 5 as unknown as string;
  assert.throws(() => lines().createEncoder().encode(notText), /got a value of type number/);
});

test('ndjson reads what it wrote, and refuses what JSON cannot hold', () => {
  const format = ndjson<{ a: string; b: number[] }>();
  const value = { a: 'line\nend "ü"', b: [1, -0.5] };
  const line = format.createEncoder().encode(value);
  assert.ok(!line.includes('\n'));
  assert.deepEqual(format.createDecoder(null)(line), value);
  assert.throws(() => format.createDecoder(null)('{"a":'), SyntaxError);
  assert.throws(() => ndjson().createEncoder().encode(5n), /cannot be written as JSON: .*BigInt/);
  assert.throws(() => ndjson().createEncoder().encode(undefined), /of type undefined/);
});

test('csv takes names from the header, and values as strings', () => {
  const decode = csv().createDecoder('id,"full, name"');
  assert.deepEqual(decode('1,"Doe, ""J"""'), { id: '1', 'full, name': 'Doe, "J"' });
  assert.deepEqual(decode(',""'), { id: '', 'full, name': '' });
});

test('csv columns choose, order and type what is read', () => {
  const format = csv<{ n: number; ok: boolean }>({
    delimiter: ';',
    columns: [
      { name: 'ok', type: 'boolean' },
      { name: 'n', type: 'number' },
    ],
  });
  const decode = format.createDecoder('n;x;ok');
  assert.deepEqual(decode('1.5;?;true'), { ok: true, n: 1.5 });
  assert.throws(() => decode('one;?;true'), /column "n": "one" is not a number/);
  assert.throws(() => decode(' ;?;true'), /column "n": " " is not a number/);
  assert.throws(() => decode('1;?;yes'), /column "ok": "yes" is not a boolean/);
  assert.throws(() => format.createDecoder('n;x'), /no column "ok" among \["n","x"\]/);
  assert.throws(() => format.createDecoder('n;ok;n'), /two columns named "n"/);
});

test('csv calls a line malformed that does not fit', () => {
  const decode = csv({ header: false, columns: ['a', 'b'] }).createDecoder(null);
  assert.throws(() => decode('1'), /1 fields, and there are 2 columns/);
  assert.throws(() => decode('1,2,3'), /3 fields/);
  assert.throws(() => decode('1,"2'), /quote opened at character 3 does not end/);
  assert.throws(() => decode('"1"x,2'), /text follows a closing quote at character 4/);
});

test('csv writes a header, and quotes what needs it', () => {
  const encoder = csv<Record<string, unknown>>().createEncoder();
  const first = { a: 'x,y', b: 1, c: null, d: new Date(0), e: 'q"' };
  assert.equal(encoder.header?.(first), 'a,b,c,d,e');
  assert.equal(encoder.encode(first), '"x,y",1,,1970-01-01T00:00:00.000Z,"q"""');
  assert.equal(encoder.encode({ e: 'last', a: true }), 'true,,,,last');
  assert.throws(() => encoder.encode({ a: {} }), /column "a": a value of type object/);
});

test('csv does not write a blank line for a lone empty field', () => {
  const format = csv<{ a: string }>({ header: false, columns: ['a'] });
  const line = format.createEncoder().encode({ a: '' });
  assert.equal(line, '""');
  assert.deepEqual(format.createDecoder(null)(line), { a: '' });
});

test('csv refuses options that contradict each other', () => {
  assert.throws(() => csv({ header: false }), /columns must be given/);
  assert.throws(() => csv({ delimiter: '::' }), /one character/);
});
