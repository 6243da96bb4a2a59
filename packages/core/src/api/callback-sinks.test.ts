import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectSink, forEachSink, formatRecord, printSink } from './callback-sinks.ts';
import type { Sink, SinkWriterContext } from './sink.ts';

const NO_TIME = { timestamp: Number.NaN, watermark: -Infinity };

function write<T>(sink: Sink<T>, values: readonly T[], context: Partial<SinkWriterContext>): void {
  const writer = sink.createWriter(context as SinkWriterContext, []);
  for (const value of values) writer.write(value, NO_TIME);
}

test('each record is handed to the function, or pushed into the array', () => {
  const seen: number[] = [];
  write(
    forEachSink<number>((value) => seen.push(value)),
    [1, 2],
    {},
  );
  write(collectSink(seen), [3], {});
  assert.deepEqual(seen, [1, 2, 3]);
});

test('print writes a line for each record, with label and subtask where they help', () => {
  const lines: string[] = [];
  const print = (line: string): void => void lines.push(line);
  write(printSink(null, print), ['a', { n: 1 }], { subtask: 0, parallelism: 1 });
  write(printSink('late', print), ['b'], { subtask: 1, parallelism: 2 });
  write(printSink(null, print), ['c'], { subtask: 1, parallelism: 2 });
  write(printSink('late', print), ['d'], { subtask: 0, parallelism: 1 });
  assert.deepEqual(lines, ['a', '{"n":1}', 'late:2> b', '2> c', 'late> d']);
});

test('without a console print writes to the log', () => {
  const logged: string[] = [];
  const logger = { log: (level: string, message: string) => logged.push(`${level} ${message}`) };
  write(printSink(null, null), ['a'], { subtask: 0, parallelism: 1, logger });
  assert.deepEqual(logged, ['info a']);
});

test('records that JSON cannot hold are printed all the same', () => {
  assert.equal(formatRecord(undefined), 'undefined');
  assert.equal(formatRecord(12n), '"12n"');
  assert.equal(formatRecord({ a: new Map([['k', 1]]), b: new Set([1]) }), '{"a":{"k":1},"b":[1]}');
  assert.equal(formatRecord([Number.NaN, -Infinity]), '["NaN","-Infinity"]');
  assert.equal(formatRecord(Symbol('x')), 'Symbol(x)');
});

test('a checkpoint has nothing to wait for', async () => {
  const writer = forEachSink(() => undefined).createWriter({} as SinkWriterContext, []);
  assert.equal(writer.isWritable, true);
  const prepared = writer.prepareCommit({ checkpointId: 1, endOfInput: false });
  await prepared.durable;
  assert.deepEqual([prepared.committables, prepared.writerStates], [[], []]);
});
