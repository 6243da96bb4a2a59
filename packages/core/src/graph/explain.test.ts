import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StreamGraph } from '../api/stream-graph.ts';
import { compileJobGraph } from './compile-job-graph.ts';
import { explain, explainJob } from './explain.ts';
import { committingSink, keyed, map, sink, source, streamGraphOf } from './stream-graph-fixture.ts';

const byKey = { partitioner: 'hash' } as const;

function textOf(graph: StreamGraph): string {
  return explain(compileJobGraph(graph, { defaultParallelism: 2 }), graph);
}

const orders = streamGraphOf(
  {
    orders: source,
    parse: { ...map, uid: null },
    totals: keyed({ total: { kind: 'value', default: 0 }, seen: { kind: 'map' } }),
    alert: map,
    files: committingSink,
    print: { ...sink, parallelism: 1, slotSharingGroup: 'io' },
  },
  {
    'orders -> parse': null,
    'parse -> totals': byKey,
    'totals -> alert': { sideOutput: 'large' },
    'totals -> files': null,
    'alert -> print': null,
  },
);

test('the text shows chains, uids, states, key groups and where records go', () => {
  const text = textOf(orders).replace(/plan [0-9a-f]{12}/, 'plan …');
  assert.equal(
    text,
    `orders
3 vertices · 6 operators · 3 slots · plan …

[1] parallelism 2
    orders               source        uid orders  job.ts:1
    │  state: splits (operator list)
    └─ parse             map           no uid      job.ts:2
    parse ──hash──▶ [2] totals

[2] parallelism 2, 128 key groups
    totals               keyedProcess  uid totals  job.ts:3
    │  state: total (value), seen (map), timers
    ├─ alert (of large)  map           uid alert   job.ts:4
    └─ files             sink          uid files   job.ts:5
          state: writer (operator list), committables (operator list)
    alert ──rebalance──▶ [3] print

[3] parallelism 1, slots of group "io"
    print                sink          uid print   job.ts:6
`,
  );
});

test('no line is wider than 100 columns, however long the names', () => {
  const long = 'a-name-that-goes-on-and-on-'.repeat(6);
  const graph = streamGraphOf(
    {
      [long]: { ...source, uid: null, location: `${long}.ts:1` },
      [`${long}2`]: keyed(
        Object.fromEntries(
          Array.from({ length: 30 }, (_, i) => [`state-number-${i}`, { kind: 'list' as const }]),
        ),
      ),
      sink: { ...sink, uid: `${long}3`, slotSharingGroup: long },
    },
    { [`${long} -> ${long}2`]: byKey, [`${long}2 -> sink`]: null },
  );
  const lines = textOf(graph).split('\n');
  assert.ok(lines.every((line) => Array.from(line).length <= 100));
  assert.ok(lines.some((line) => line.includes('state-number-29')));
  assert.ok(lines.every((line) => line === line.trimEnd()));
});

test('the data form names every operator, its place in the chain, and every edge', () => {
  const job = explainJob(compileJobGraph(orders, { defaultParallelism: 2 }), orders);
  assert.deepEqual(
    job.vertices[1]?.operators.map(({ name, chainedBehind, sideOutput }) => [
      name,
      chainedBehind,
      sideOutput,
    ]),
    [
      ['totals', null, null],
      ['alert', 0, 'large'],
      ['files', 0, null],
    ],
  );
  assert.deepEqual(job.vertices[0]?.outputs, [
    {
      operator: 1,
      sideOutput: null,
      partitioner: 'hash',
      target: 2,
      targetName: 'totals',
      inputIndex: 0,
    },
  ]);
  assert.deepEqual(JSON.parse(JSON.stringify(job)), job);
});
