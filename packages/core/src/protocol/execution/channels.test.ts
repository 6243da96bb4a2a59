import assert from 'node:assert/strict';
import { test } from 'node:test';
import { channelsOf } from './channels.ts';
import { jobGraphOf } from './job-graph-fixture.ts';

/** Pairs `producer>consumer` of a graph with one edge. */
function pairs(producers: number, partitioner: string, consumers: number): readonly string[] {
  const graph = jobGraphOf({ a: producers, b: consumers }, [`a -${partitioner}-> b`]);
  return channelsOf(graph).map((it) => `${it.producer.subtask}>${it.consumer.subtask}`);
}

test('a forward edge connects equal subtasks', () => {
  assert.deepEqual(pairs(3, 'forward', 3), ['0>0', '1>1', '2>2']);
});

test('a rescale edge divides consumers among producers as Flink does', () => {
  assert.deepEqual(pairs(2, 'rescale', 5), ['0>0', '0>1', '0>2', '1>3', '1>4']);
  assert.deepEqual(pairs(2, 'rescale', 4), ['0>0', '0>1', '1>2', '1>3']);
});

test('a rescale edge divides producers among consumers as Flink does', () => {
  assert.deepEqual(pairs(5, 'rescale', 2), ['0>0', '1>0', '2>1', '3>1', '4>1']);
  assert.deepEqual(pairs(3, 'rescale', 1), ['0>0', '1>0', '2>0']);
});

test('every other edge connects all with all', () => {
  for (const partitioner of ['rebalance', 'hash', 'broadcast', 'shuffle', 'global', 'custom'])
    assert.deepEqual(pairs(2, partitioner, 2), ['0>0', '0>1', '1>0', '1>1']);
});

test('channels are numbered through all edges', () => {
  const graph = jobGraphOf({ a: 2, b: 2, c: 1 }, ['a -forward-> b', 'b -hash-> c']);
  assert.deepEqual(
    channelsOf(graph).map(({ channelId, edge }) => [channelId, edge]),
    [
      [0, 0],
      [1, 0],
      [2, 1],
      [3, 1],
    ],
  );
});
