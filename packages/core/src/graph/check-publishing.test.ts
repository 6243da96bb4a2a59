import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildStreamGraph } from '../api/build-stream-graph.ts';
import { job } from '../api/job.ts';
import { datagen } from '../connectors/generated/datagen.ts';
import { fileSink } from '../connectors/file-sink.ts';
import { ndjson } from '../connectors/formats/ndjson.ts';
import type { StreamGraph } from '../api/stream-graph.ts';
import { checkPublishing } from './check-publishing.ts';

function graphOf(count: number | null): StreamGraph {
  const generator = (index: number): number => index;
  const source = datagen(count === null ? { generator } : { generator, count });
  return buildStreamGraph(
    job('out', (env) => {
      const numbers = env.fromSource(source, { uid: 'numbers' });
      numbers.map((n) => n + 1).sinkTo(fileSink({ path: '/out', format: ndjson() }));
    }),
  ).graph;
}

test('a committing sink of an endless input is refused when checkpoints are off [R077]', () => {
  assert.throws(
    () => checkPublishing(graphOf(null), false),
    /this sink publishes on completed checkpoints; checkpointing is off/,
  );
});

test('it is accepted with checkpoints, and for an input that ends', () => {
  checkPublishing(graphOf(null), true);
  checkPublishing(graphOf(10), false);
});
