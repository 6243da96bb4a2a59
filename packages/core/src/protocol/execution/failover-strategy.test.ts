import assert from 'node:assert/strict';
import { test } from 'node:test';
import { subtaskKey } from '../../base/ids.ts';
import type { JobGraph } from '../job-graph.ts';
import { channelsOf } from './channels.ts';
import { createFailoverStrategy } from './failover-strategy.ts';
import type { FailoverStrategyType } from './failover-strategy.ts';
import { jobGraphOf, vertexIdOf } from './job-graph-fixture.ts';

/** Names such as `a0` of what restarts when `failed` fails. */
function restarting(
  graph: JobGraph,
  failed: string,
  type: FailoverStrategyType = 'region',
): readonly string[] {
  const names = new Map(
    graph.vertices.flatMap(({ id, name, parallelism }) =>
      Array.from({ length: parallelism }, (_, i) => [subtaskKey(id, i), `${name}${i}`] as const),
    ),
  );
  const key = subtaskKey(vertexIdOf(failed.slice(0, -1)), Number(failed.slice(-1)));
  const strategy = createFailoverStrategy(type, graph, channelsOf(graph));
  return [...strategy.tasksToRestart([key])].map((it) => names.get(it) ?? '?').toSorted();
}

test('subtasks linked by forward edges alone are regions of their own [I-82]', () => {
  const graph = jobGraphOf({ a: 3, b: 3 }, ['a -forward-> b']);
  assert.deepEqual(restarting(graph, 'a1'), ['a1', 'b1']);
  assert.deepEqual(restarting(graph, 'b2'), ['a2', 'b2']);
});

test('an exchange between all subtasks makes one region [I-82]', () => {
  const graph = jobGraphOf({ a: 2, b: 2, c: 1 }, ['a -hash-> b', 'b -forward-> c']);
  assert.deepEqual(restarting(graph, 'b0'), ['a0', 'a1', 'b0', 'b1', 'c0']);
});

test('disjoint pipelines do not restart each other', () => {
  const graph = jobGraphOf({ a: 1, b: 2, x: 1, y: 2 }, ['a -hash-> b', 'x -hash-> y']);
  assert.deepEqual(restarting(graph, 'y1'), ['x0', 'y0', 'y1']);
});

test('one source that feeds two branches is one region with both', () => {
  const graph = jobGraphOf({ s: 1, even: 1, odd: 1 }, ['s -hash-> even', 's -hash-> odd']);
  assert.deepEqual(restarting(graph, 'odd0'), ['even0', 'odd0', 's0']);
});

test('the strategy "full" restarts everything', () => {
  const graph = jobGraphOf({ a: 2, b: 2 }, ['a -forward-> b']);
  assert.deepEqual(restarting(graph, 'a1', 'full'), ['a0', 'a1', 'b0', 'b1']);
});
