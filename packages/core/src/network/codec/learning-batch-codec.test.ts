import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { BinaryReader } from '../../base/codec/binary-reader.ts';
import { BinaryWriter } from '../../base/codec/binary-writer.ts';
import { LearningBatchCodec } from './learning-batch-codec.ts';

const CHANNEL = 7;
const COLUMNS = 1;

class Wire {
  readonly #sender = new LearningBatchCodec();
  /** Whether the last batch went as columns. */
  inColumns = false;

  pass(values: readonly unknown[], timestamps: Float64Array | null = null): readonly unknown[] {
    const output = new BinaryWriter();
    this.#sender.encode({ values, timestamps }, output, CHANNEL);
    this.inColumns = output.view()[0] === COLUMNS;
    // A reader that has seen nothing before.
    const input = new BinaryReader(output.copy());
    const batch = new LearningBatchCodec().decode(input);
    assert.equal(input.remaining, 0);
    assert.deepEqual(batch.timestamps, timestamps);
    return batch.values;
  }
}

function many<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** Passes as columns and comes back as structured clone would give it. */
function passesInColumns(values: readonly unknown[]): void {
  const wire = new Wire();
  const back = wire.pass(values);
  assert.equal(wire.inColumns, true);
  assert.deepEqual(back, structuredClone(values));
  for (const [index, value] of back.entries())
    if (typeof value === 'object' && value !== null)
      assert.deepEqual(Object.keys(value), Object.keys(values[index] as object));
}

test('records of one shape go in columns, with their timestamps', () => {
  const wire = new Wire();
  const values = many(1000, (i) => ({ id: i, name: `n${i % 7}`, amount: i / 4, open: i % 2 > 0 }));
  assert.deepEqual(wire.pass(values, Float64Array.from(values.keys())), values);
  assert.equal(wire.inColumns, true);
});

test('special numbers keep what they are', () => {
  const values = [0, -0, 1.5, Number.NaN, Infinity, 2 ** 31, -(2 ** 31)].map((n) => ({ n }));
  passesInColumns(values);
  const back = new Wire().pass(values) as { n: number }[];
  assert.ok(Object.is(back[1]?.n, -0));
});

test('a column of integers takes minus zero by becoming one of numbers', () => {
  const wire = new Wire();
  wire.pass(many(10, (i) => ({ i })));
  const values = [...many(9, (i) => ({ i })), { i: -0 }];
  const back = wire.pass(values) as { i: number }[];
  assert.equal(wire.inColumns, true);
  assert.ok(Object.is(back[9]?.i, -0));
});

test('nested objects, lists, dates, missing and absent fields go in columns', () => {
  passesInColumns(
    many(200, (i) => ({
      id: i,
      at: i % 5 === 0 ? new Date(Number.NaN) : new Date(i * 1000),
      address: i % 3 === 0 ? null : { city: `city ${i}`, zip: i % 2 === 0 ? undefined : i },
      tags: many(i % 4, (tag) => `tag${tag}`),
      lines: many(i % 3, (line) => ({ sku: `s${line}`, count: line, price: line / 3 })),
      ...(i % 7 === 0 ? {} : { note: i % 2 === 0 ? null : 'x' }),
      last: true,
    })),
  );
});

test('values of any kind among the fields are kept', () => {
  passesInColumns(
    many(20, (i) => ({
      id: i,
      big: 2n ** BigInt(i),
      map: new Map([[i, new Set(['a', i])]]),
      bytes: Uint16Array.of(i, 65535),
      mixed: i % 2 === 0 ? i : `${i}`,
    })),
  );
});

test('text keeps every character, short, long and lone surrogates', () => {
  passesInColumns(['', 'a', 'ß', '日本', '\ud800', '😀', 'x'.repeat(300), 'seventeen letters']);
  passesInColumns(many(500, (i) => `${i}`.padStart(i % 40, '-')));
  passesInColumns(many(500, (i) => ['red', 'grün', 'blue'][i % 3]));
  passesInColumns(many(5, (i) => `${i}`.repeat(1_000_000)));
});

test('a record of sixty fields goes in columns', () => {
  passesInColumns(
    many(100, (i) => Object.fromEntries(many(60, (f) => [`field${f}`, f % 2 === 0 ? i : `${f}`]))),
  );
});

test('names that code could stumble over are names all the same', () => {
  passesInColumns(
    many(10, (i) => ({ '"': i, '\n': 1, constructor: 'c', '${x}': 2, 'a b': 3, '7': 4, '': 5 })),
  );
});

test('instances of classes become plain objects, in columns too', () => {
  class Point {
    readonly x: number;
    constructor(x: number) {
      this.x = x;
    }
    get double(): number {
      return this.x * 2;
    }
  }
  const wire = new Wire();
  assert.deepEqual(
    wire.pass(many(10, (x) => new Point(x))),
    many(10, (x) => ({ x })),
  );
  assert.equal(wire.inColumns, true);
});

test('what two fields share is shared afterwards', () => {
  const at = new Date(5);
  const loop: { self?: unknown; id: number } = { id: 1 };
  loop.self = loop;
  const deep = { list: [{ v: 1 }] };
  const sets = [
    many(8, () => ({ from: at, to: at })),
    many(8, () => loop),
    many(8, () => ({ a: deep, b: new Map([['k', deep.list]]) })),
    many(8, () => ({ a: deep.list, b: deep.list })),
  ];
  for (const values of sets) assert.deepEqual(new Wire().pass(values), structuredClone(values));
  const [dates] = new Wire().pass(sets[0] ?? []) as { from: Date; to: Date }[];
  assert.equal(dates?.from, dates?.to);
});

test('an object that inherits fields loses them, as with structured clone', () => {
  const values = many(8, (i) => Object.assign(Object.create({ inherited: 1 }) as object, { i }));
  assert.deepEqual(new Wire().pass(values), structuredClone(values));
});

test('arrays with holes and fields of their own survive', () => {
  const odd = Object.assign([1, 2], { extra: true });
  const holes: number[] = [];
  holes[3] = 1;
  const values = many(8, (i) => ({ i, list: i % 2 === 0 ? odd : holes }));
  const [first, second] = new Wire().pass(values) as { list: number[] & { extra?: boolean } }[];
  assert.equal(first?.list.extra, true);
  assert.equal(1 in (second?.list ?? []), false);
});

test('a change of shape is learnt', () => {
  const wire = new Wire();
  const changes: ((i: number) => unknown)[] = [
    (i: number) => ({ a: i }),
    (i: number) => ({ a: i, b: 'new' }),
    (i: number) => ({ other: i, names: ['x'] }),
    (i: number) => ({ a: `${i}` }),
  ];
  for (const make of changes) {
    assert.deepEqual(wire.pass(many(50, make)), many(50, make));
    assert.equal(wire.inColumns, true);
  }
});

test('records without a common shape go to the general codec, and so does a batch with one', () => {
  const wire = new Wire();
  const shapeless = many(100, (i) => ({ [`f${i}`]: i }));
  assert.deepEqual(wire.pass(shapeless), shapeless);
  assert.equal(wire.inColumns, false);
  const steady = many(10, (i) => ({ i }));
  wire.pass(steady);
  assert.equal(wire.inColumns, true);
  const mixed = [...steady, 'odd', new Map()];
  assert.deepEqual(wire.pass(mixed), mixed);
  assert.equal(wire.inColumns, false);
  wire.pass(steady);
  assert.equal(wire.inColumns, true, 'one odd batch changes nothing for the next');
});

test('a channel that never settles is left alone for a while', () => {
  const wire = new Wire();
  let columns = 0;
  for (let round = 0; round < 100; round++) {
    const values = many(10, (i) => ({ [`x${round}`]: i }));
    assert.deepEqual(wire.pass(values), values);
    if (wire.inColumns) columns++;
  }
  assert.ok(columns < 20, `${columns} shapes were generated`);
});

test('an error names the place within the record', () => {
  const values = many(8, () => ({ handlers: { call: (): void => undefined } }));
  assert.throws(() => new Wire().pass(values), {
    code: 'SERIALIZATION_FAILED',
    message: /a function .*handlers\.call/,
  });
});

test('a getter that throws is named, and does no harm to the batches behind it', () => {
  const wire = new Wire();
  const values = many(8, (i) => ({ i, price: i / 2 }));
  const bad = {
    i: 8,
    get price(): number {
      throw new Error('no rate');
    },
  };
  for (const batch of [[...values, bad], [bad, bad, bad, bad, bad], [bad]])
    assert.throws(() => wire.pass(batch), /SerializationError: .*"no rate".*\(at price\)/);
  assert.deepEqual(wire.pass(values), values);
  assert.equal(wire.inColumns, true);
});

test('damaged bytes are an error of their own', () => {
  const output = new BinaryWriter();
  const values = many(6, (i) => ({ id: i, name: `n${i}`, list: [i], any: [i, 'x'] }));
  new LearningBatchCodec().encode({ values, timestamps: null }, output, CHANNEL);
  assert.equal(output.view()[0], COLUMNS);
  for (let length = 0; length < output.length; length++)
    assert.throws(
      () => new LearningBatchCodec().decode(new BinaryReader(output.copy().subarray(0, length))),
      { code: 'SERIALIZATION_FAILED' },
    );
});

test('records whose parts name each other are learnt in one walk over each', () => {
  const values = many(8, (i) => {
    const nodes = many(60, (id) => ({ id: i + id, links: [] as unknown[] }));
    for (const node of nodes) node.links = nodes.filter((other) => other !== node);
    return nodes[0];
  });
  const wire = new Wire();
  const back = wire.pass(values) as { id: number; links: { id: number; links: object[] }[] }[];
  assert.equal(wire.inColumns, false);
  assert.deepEqual(
    back[7]?.links.map(({ id }) => id),
    many(59, (id) => 8 + id),
  );
  assert.equal(back[7]?.links[3]?.links[0], back[7]);
});

test('an object that some records hold twice leaves the shape to the others', () => {
  const wire = new Wire();
  const both = new Date(1);
  const values = many(20, (i) => ({ id: i, from: new Date(i), to: i === 0 ? null : new Date(-i) }));
  wire.pass([{ id: 0, from: both, to: both }, ...values]);
  passesInColumns(values);
  wire.pass(values);
  assert.equal(wire.inColumns, true);
});

test('records of more fields than code can be quick for go as records of any shape', () => {
  const objects = (count: number): object =>
    Object.fromEntries(many(count, (i) => [`object${i}`, { a: i, b: i, c: i, d: { e: i } }]));
  passesInColumns(many(4, () => objects(300)));
  const values = many(4, () => objects(400));
  const wire = new Wire();
  assert.deepEqual(wire.pass(values), values);
  assert.equal(wire.inColumns, false);
});

test('objects of another realm, as test runners make them, are what they are', () => {
  const make = runInNewContext(`(i) => ({
    at: new Date(i), error: new RangeError('e'), expression: /x/g, boxed: new String('s'),
    list: [i, { i }],
  })`) as (i: number) => object;
  const values = many(8, make);
  for (const batch of [values, values.slice(0, 1)])
    assert.deepEqual(new Wire().pass(batch), structuredClone(batch));
});
