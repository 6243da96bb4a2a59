import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { channelsOf } from './channels.ts';
import { jobGraphOf } from './job-graph-fixture.ts';

const parallelism = fc.integer({ min: 1, max: 40 });

test('a pointwise edge leaves no subtask alone and connects each pair once', () => {
  fc.assert(
    fc.property(parallelism, parallelism, (producers, consumers) => {
      const graph = jobGraphOf({ a: producers, b: consumers }, ['a -rescale-> b']);
      const channels = channelsOf(graph);
      assert.equal(channels.length, Math.max(producers, consumers));
      assert.equal(new Set(channels.map((it) => it.producer.subtask)).size, producers);
      assert.equal(new Set(channels.map((it) => it.consumer.subtask)).size, consumers);
    }),
  );
});

test('the load of a pointwise edge differs by one channel at most', () => {
  fc.assert(
    fc.property(parallelism, parallelism, (producers, consumers) => {
      const graph = jobGraphOf({ a: producers, b: consumers }, ['a -rescale-> b']);
      const side = producers >= consumers ? 'consumer' : 'producer';
      const loads = new Map<number, number>();
      for (const channel of channelsOf(graph)) {
        const { subtask } = channel[side];
        loads.set(subtask, (loads.get(subtask) ?? 0) + 1);
      }
      assert.ok(Math.max(...loads.values()) - Math.min(...loads.values()) <= 1);
    }),
  );
});
