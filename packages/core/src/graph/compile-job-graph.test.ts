import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StreamGraph } from '../api/stream-graph.ts';
import { isWeirError } from '../base/errors.ts';
import { murmur128 } from '../base/murmur.ts';
import { compileJobGraph } from './compile-job-graph.ts';
import type { CompileOptions } from './compile-job-graph.ts';
import { committingSink, keyed, map, sink, source, streamGraphOf } from './stream-graph-fixture.ts';

const byKey = { partitioner: 'hash' } as const;

function compile(graph: StreamGraph, options: Partial<CompileOptions> = {}) {
  return compileJobGraph(graph, { defaultParallelism: 2, ...options });
}

function chains(graph: StreamGraph, options: Partial<CompileOptions> = {}): readonly string[] {
  return compile(graph, options).jobGraph.vertices.map(({ name }) => name);
}

/** Edges as `source -partitioner-> target`. */
function edges(graph: StreamGraph, options: Partial<CompileOptions> = {}): readonly string[] {
  const { jobGraph } = compile(graph, options);
  const names = new Map(jobGraph.vertices.map(({ id, name }) => [id, name]));
  return jobGraph.edges.map(
    (edge) => `${names.get(edge.source)} -${edge.partitioner}-> ${names.get(edge.target)}`,
  );
}

function refusal(graph: StreamGraph, options: Partial<CompileOptions> = {}): string {
  try {
    compile(graph, options);
  } catch (error) {
    assert.ok(isWeirError(error) && error.kind === 'user', String(error));
    return `${error.code}: ${error.message}`;
  }
  return assert.fail('the graph is not refused');
}

const pipeline = streamGraphOf(
  { source, map, totals: keyed(), sink },
  { 'source -> map': null, 'map -> totals': byKey, 'totals -> sink': null },
);

test('operators linked by forward edges form a chain', () => {
  assert.deepEqual(chains(pipeline), ['source -> map', 'totals -> sink']);
  assert.deepEqual(edges(pipeline), ['source -> map -hash-> totals -> sink']);
});

test('reports show names that were given, and uids in place of the others', () => {
  const graph = streamGraphOf(
    { source, map: { ...map, uid: null }, totals: { ...keyed(), isNamed: true, uid: 't' }, sink },
    { 'source -> map': null, 'map -> totals': byKey, 'totals -> sink': null },
  );
  for (const node of graph.nodes) if (node.isNamed !== true) node.name = `a ${node.spec.type}`;
  assert.deepEqual(
    compile(graph).jobGraph.vertices.map(({ label }) => label),
    ['source -> a map', 'totals -> sink'],
  );
});

test('the id of an operator is the hash of its uid, that of a vertex the id of its head', () => {
  const [first, second] = compile(pipeline).jobGraph.vertices;
  assert.equal(first?.id, murmur128('source'));
  assert.deepEqual(
    second?.operators.map(({ operatorId }) => operatorId),
    [murmur128('totals'), murmur128('sink')],
  );
});

test('a given id wins over the uid', () => {
  const uidHash = '0123456789abcdef0123456789abcdef';
  const graph = streamGraphOf({ source: { ...source, uidHash }, sink }, { 'source -> sink': null });
  assert.equal(compile(graph).jobGraph.vertices[0]?.id, uidHash);
});

test('without a partitioner records are spread when the parallelism changes', () => {
  const graph = streamGraphOf(
    { source: { ...source, parallelism: 1 }, map, sink },
    { 'source -> map': null, 'map -> sink': null },
  );
  assert.deepEqual(edges(graph), ['source -rebalance-> map -> sink']);
  assert.deepEqual(chains(graph, { defaultParallelism: 1 }), ['source -> map -> sink']);
});

test('only a forward edge is chained', () => {
  for (const partitioner of ['rebalance', 'rescale', 'shuffle', 'broadcast', 'global'] as const) {
    const graph = streamGraphOf({ source, sink }, { 'source -> sink': { partitioner } });
    assert.deepEqual(chains(graph), ['source', 'sink']);
  }
});

test('a chain may fork, also at a side output, and is then a tree', () => {
  const graph = streamGraphOf(
    { source, a: sink, b: map, c: sink, late: sink },
    {
      'source -> a': null,
      'source -> b': null,
      'b -> c': null,
      'source -> late': { sideOutput: 'late' },
    },
  );
  assert.deepEqual(chains(graph), ['source -> (a, b -> c, late)']);
  const [vertex] = compile(graph).jobGraph.vertices;
  assert.deepEqual(
    vertex?.operators.map(({ name, chainedTo }) => [name, chainedTo]),
    [
      [
        'source',
        [
          { operator: 1, sideOutput: null },
          { operator: 2, sideOutput: null },
          { operator: 4, sideOutput: 'late' },
        ],
      ],
      ['a', []],
      ['b', [{ operator: 3, sideOutput: null }]],
      ['c', []],
      ['late', []],
    ],
  );
});

test('an edge may leave a chain in the middle', () => {
  const graph = streamGraphOf(
    { source, map, sink, other: sink },
    {
      'source -> map': null,
      'map -> sink': null,
      'map -> other': { partitioner: 'rebalance', sideOutput: 'bad' },
    },
  );
  const [edge] = compile(graph).jobGraph.edges;
  assert.equal(edge?.sourceOperator, 1);
  assert.equal(edge?.sideOutput, 'bad');
  assert.deepEqual([edge?.sourceNode, edge?.targetNode], [1, 3]);
});

test('an operator with several inputs begins a chain', () => {
  const graph = streamGraphOf(
    { left: source, right: source, both: map, sink },
    { 'left -> both': null, 'right -> both': null, 'both -> sink': null },
  );
  assert.deepEqual(chains(graph), ['left', 'right', 'both -> sink']);
  assert.deepEqual(edges(graph), ['left -forward-> both -> sink', 'right -forward-> both -> sink']);
});

test('the chaining policy is kept', () => {
  const withPolicy = (chaining: 'head' | 'never'): StreamGraph =>
    streamGraphOf(
      { source, map: { ...map, chaining }, sink },
      { 'source -> map': null, 'map -> sink': null },
    );
  assert.deepEqual(chains(withPolicy('head')), ['source', 'map -> sink']);
  assert.deepEqual(chains(withPolicy('never')), ['source', 'map', 'sink']);
});

test('slot sharing groups are inherited, and part chains', () => {
  const graph = streamGraphOf(
    { source, map: { ...map, slotSharingGroup: 'heavy' }, sink, other: source, end: sink },
    { 'source -> map': null, 'map -> sink': null, 'other -> end': null },
  );
  const groups = compile(graph).jobGraph.vertices.map((it) => [it.name, it.slotSharingGroup]);
  assert.deepEqual(groups, [
    ['source', 'default'],
    ['map -> sink', 'heavy'],
    ['other -> end', 'default'],
  ]);
});

test('an operator whose inputs are of several groups joins the default group', () => {
  const graph = streamGraphOf(
    {
      a: { ...source, slotSharingGroup: 'a' },
      b: { ...source, slotSharingGroup: 'b' },
      both: sink,
    },
    { 'a -> both': null, 'b -> both': null },
  );
  const groups = compile(graph).jobGraph.vertices.map((it) => it.slotSharingGroup);
  assert.deepEqual(groups, ['a', 'b', 'default']);
});

test('the maximum parallelism is derived, or fixed by operator or job', () => {
  const graph = streamGraphOf(
    { source, totals: { ...keyed(), maxParallelism: 64 }, sink },
    { 'source -> totals': byKey, 'totals -> sink': null },
  );
  const maxima = (options: Partial<CompileOptions>): unknown =>
    compile(graph, options).jobGraph.vertices.map((it) => [
      it.maxParallelism,
      it.maxParallelismFixed,
    ]);
  assert.deepEqual(maxima({ defaultParallelism: 60 }), [
    [128, false],
    [64, true],
  ]);
  assert.deepEqual(maxima({ defaultMaxParallelism: 32 }), [
    [32, true],
    [64, true],
  ]);
});

test('a maximum parallelism of its own parts an operator from its chain', () => {
  const graph = streamGraphOf(
    { source, map: { ...map, maxParallelism: 64 }, sink },
    { 'source -> map': null, 'map -> sink': null },
  );
  assert.deepEqual(chains(graph), ['source', 'map -> sink']);
});

test('only a keyed operator is refused more subtasks than key groups [R064]', () => {
  const graph = streamGraphOf(
    { source, totals: keyed(), sink },
    { 'source -> totals': byKey, 'totals -> sink': null },
  );
  const message = refusal(graph, { defaultParallelism: 200, defaultMaxParallelism: 128 });
  assert.match(message, /"totals" \(job\.ts:2\) has the parallelism 200.*128 key groups/);
  assert.match(message, /raise setMaxParallelism/);
  const stateless = streamGraphOf({ source, map, sink }, { 'source -> map': null });
  const { vertices } = compile(stateless, {
    defaultParallelism: 200,
    defaultMaxParallelism: 128,
  }).jobGraph;
  assert.equal(vertices[0]?.parallelism, 200);
});

test('a forward edge between different parallelism is refused', () => {
  const graph = streamGraphOf(
    { source: { ...source, parallelism: 1 }, map, sink },
    { 'source -> map': { partitioner: 'forward' }, 'map -> sink': null },
  );
  assert.match(
    refusal(graph),
    /GRAPH_INVALID: forward\(\) from "source" \(job\.ts:1\) to "map" \(job\.ts:2\).* 1 and 2/,
  );
});

test('two operators with one uid are refused, naming both lines [R053]', () => {
  const graph = streamGraphOf(
    { source, map: { ...map, uid: 'x' }, sink: { ...sink, uid: 'x' } },
    { 'source -> map': null, 'map -> sink': null },
  );
  assert.match(
    refusal(graph),
    /UID_DUPLICATE: the operators "map" \(job\.ts:2\) and "sink" \(job\.ts:3\) .* uid "x"/,
  );
});

test('a job without source or without sink is refused', () => {
  assert.match(refusal(streamGraphOf({ sink }, {})), /reads nothing: .*fromSource/);
  assert.match(refusal(streamGraphOf({ source }, {})), /writes nothing: .*sinkTo/);
});

test('a parallelism out of bounds is refused', () => {
  for (const defaultParallelism of [0, 1.5, 40_000, NaN])
    assert.match(refusal(pipeline, { defaultParallelism }), /whole numbers from 1 to 32768/);
});

test('a stateful operator without uid is warned of, with its line [R055]', () => {
  const graph = streamGraphOf(
    {
      source: { ...source, uid: null },
      map: { ...map, uid: null },
      totals: { ...keyed(), uid: null },
      files: { ...committingSink, uid: null },
      print: { ...sink, uid: null },
    },
    {
      'source -> map': null,
      'map -> totals': byKey,
      'totals -> files': null,
      'totals -> print': null,
    },
  );
  const { warnings } = compile(graph);
  assert.deepEqual(
    warnings.map((warning) => /^"\w+" \(job\.ts:\d\) keeps state/.exec(warning)?.[0]),
    [
      '"source" (job.ts:1) keeps state',
      '"totals" (job.ts:3) keeps state',
      '"files" (job.ts:4) keeps state',
    ],
  );
  assert.deepEqual(compile(pipeline).warnings, []);
});

test('results that nobody reads are warned of', () => {
  const graph = streamGraphOf(
    { source, map, sink },
    { 'source -> map': null, 'source -> sink': null },
  );
  assert.match(compile(graph).warnings[0] ?? '', /"map" \(job\.ts:2\) emits to nobody/);
});

test('an operator without uid keeps its id when unrelated things change [R055]', () => {
  const nameless = { ...keyed(), uid: null };
  const idOf = (graph: StreamGraph, options: Partial<CompileOptions> = {}): string => {
    const { vertices } = compile(graph, options).jobGraph;
    const operators = vertices.flatMap((vertex) => vertex.operators);
    return operators.find(({ name }) => name === 'totals')?.operatorId ?? '';
  };
  const graph = streamGraphOf(
    { source, totals: nameless, sink },
    { 'source -> totals': byKey, 'totals -> sink': null },
  );
  const before = idOf(graph);
  const withBranch = streamGraphOf(
    { clicks: source, print: sink, source, totals: nameless, sink },
    { 'clicks -> print': null, 'source -> totals': byKey, 'totals -> sink': null },
  );
  assert.equal(idOf(withBranch), before);
  assert.equal(idOf(graph, { defaultParallelism: 7 }), before);
  const withMap = streamGraphOf(
    { source, map, totals: nameless, sink },
    { 'source -> map': null, 'map -> totals': byKey, 'totals -> sink': null },
  );
  assert.notEqual(idOf(withMap), before);
  const unkeyed = streamGraphOf(
    { source, totals: nameless, sink },
    { 'source -> totals': null, 'totals -> sink': null },
  );
  assert.notEqual(idOf(unkeyed), before);
});

test('operators without uid in like places have different ids', () => {
  const graph = streamGraphOf(
    { source, a: { ...sink, uid: null }, b: { ...sink, uid: null } },
    { 'source -> a': null, 'source -> b': null },
  );
  assert.equal(
    new Set(compile(graph).jobGraph.vertices[0]?.operators.map((it) => it.operatorId)).size,
    3,
  );
});

test('an insertion before a stateful operator leaves the ids of uids alone [R053]', () => {
  const after = streamGraphOf(
    { source, map, filter: map, totals: keyed(), sink },
    {
      'source -> map': null,
      'map -> filter': null,
      'filter -> totals': byKey,
      'totals -> sink': null,
    },
  );
  assert.equal(compile(after).jobGraph.vertices[1]?.id, compile(pipeline).jobGraph.vertices[1]?.id);
});

test('equal plans have equal hashes, whatever lines they come from', () => {
  const hashOf = (graph: StreamGraph): string => compile(graph).jobGraph.planHash;
  const variant = (settings: object, state = {}): StreamGraph =>
    streamGraphOf(
      { source, map: { ...map, ...settings }, totals: keyed(state), sink },
      { 'source -> map': null, 'map -> totals': byKey, 'totals -> sink': null },
    );
  assert.match(hashOf(pipeline), /^[0-9a-f]{64}$/);
  assert.equal(hashOf(variant({ location: 'bundle.js:1' })), hashOf(pipeline));
  assert.notEqual(hashOf(variant({ uid: 'other' })), hashOf(pipeline));
  assert.notEqual(hashOf(variant({ parallelism: 3 })), hashOf(pipeline));
  const state = { total: { kind: 'value', default: 0 } as const };
  assert.notEqual(hashOf(variant({}, state)), hashOf(pipeline));
});
