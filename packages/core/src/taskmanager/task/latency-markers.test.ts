import assert from 'node:assert/strict';
import { test } from 'node:test';
import { job } from '../../api/job.ts';
import type { Job } from '../../api/job.ts';
import { ManualClock } from '../../base/clock.ts';
import type { OperatorId } from '../../base/ids.ts';
import { seededRandom } from '../../base/random.ts';
import type { LatencyMarker } from '../../network/frame.ts';
import type { ResultPartition } from '../../network/result-partition.ts';
import type { LatencyStatistics } from '../../protocol/messages.ts';
import { TaskThread } from '../task-fixture.ts';
import { LatencyMarkers } from './latency-markers.ts';
import type { LatencyGranularity } from './latency-markers.ts';

/** Two vertices: a source with a map, then a function by key with a sink. */
function twoTasks(): Job {
  return job('two tasks', (env) => {
    env
      .fromCollection([1, 2, 3])
      .uid('numbers')
      .map((n) => n)
      .uid('mapped')
      .keyBy((n) => n)
      .process({ onElement: () => undefined })
      .uid('handled')
      .forEach(() => undefined);
  });
}

async function threadWith(
  intervalMs: number,
  granularity: LatencyGranularity = 'operator',
): Promise<TaskThread> {
  const latency = { intervalMs, granularity, historySize: 10 };
  const thread = new TaskThread(twoTasks(), { latency, checkpointingMode: null });
  thread.deploy();
  await thread.run();
  return thread;
}

function latenciesOf(thread: TaskThread, vertex: number): readonly LatencyStatistics[] {
  const { vertexId } = thread.deployment(vertex).execution;
  const reports = thread.of('taskMetrics').at(-1)?.metrics ?? [];
  return reports.find(({ execution }) => execution.vertexId === vertexId)?.latencies ?? [];
}

test('an idle source marks the time too, and every operator behind it notes it', async () => {
  const thread = await threadWith(400);
  for (let i = 0; i < 10; i++) await thread.run(100);
  const [first, second] = [latenciesOf(thread, 0), latenciesOf(thread, 1)];
  // At 0, 400 and 800 ms. The source itself is on nobody's way.
  assert.deepEqual(
    [...first, ...second].map(({ count }) => count),
    [3, 3, 3],
  );
  const ids = new Set([...first, ...second].map(({ operatorId }) => operatorId));
  assert.equal(ids.size, 3);
  const [source, ...others] = new Set([...first, ...second].map(({ sourceId }) => sourceId));
  assert.ok(typeof source === 'string' && !ids.has(source) && others.length === 0);
});

test('each operator notes how old a marker is, and it goes on by one channel of each edge', () => {
  const clock = new ManualClock();
  const sent: [number, LatencyMarker][] = [];
  const partition = {
    subpartitions: [0, 1, 2],
    emitMarker: (channel: number, marker: LatencyMarker) => void sent.push([channel, marker]),
  } as unknown as ResultPartition;
  const markers = new LatencyMarkers({
    settings: { intervalMs: 0, granularity: 'operator', historySize: 10 },
    clock,
    random: seededRandom(1),
    subtask: 0,
    operators: ['a', 'b'] as OperatorId[],
    isSource: false,
    partitions: [partition, partition],
  });
  const sourceId = 's' as OperatorId;
  for (let i = 0; i < 20; i++) {
    const marker = { sourceId, sourceSubtask: 0, markedAt: clock.wallTime() };
    clock.advance(i);
    markers.pass(marker);
  }
  markers.pass({ sourceId, sourceSubtask: 0, markedAt: clock.wallTime() + 5 });
  assert.deepEqual(
    markers.report().map(({ operatorId, count, min, max }) => [operatorId, count, min, max]),
    [
      ['a', 21, 0, 19],
      ['b', 21, 0, 19],
    ],
    'a clock that runs behind another makes no negative latency',
  );
  assert.equal(sent.length, 42);
  assert.deepEqual(new Set(sent.map(([channel]) => channel)), new Set([0, 1, 2]));
});

test('markers are not records', async () => {
  const thread = await threadWith(100);
  for (let i = 0; i < 10; i++) await thread.run(100);
  const metrics = thread.of('taskMetrics').at(-1)?.metrics ?? [];
  assert.deepEqual(
    metrics.map(({ recordsIn, recordsOut }) => [recordsIn, recordsOut]),
    [
      [0, 0],
      [0, 0],
    ],
  );
});

test('without an interval nothing is marked', async () => {
  const thread = await threadWith(0);
  for (let i = 0; i < 10; i++) await thread.run(100);
  assert.deepEqual(latenciesOf(thread, 1), []);
});

test('the granularity says what has a histogram of its own', async () => {
  const kept = async (granularity: LatencyGranularity): Promise<unknown[]> => {
    const thread = await threadWith(400, granularity);
    for (let i = 0; i < 10; i++) await thread.run(100);
    const [handled] = latenciesOf(thread, 1);
    return [handled?.sourceId !== null, handled?.sourceSubtask];
  };
  assert.deepEqual(await kept('single'), [false, null]);
  assert.deepEqual(await kept('operator'), [true, null]);
  assert.deepEqual(await kept('subtask'), [true, 0]);
});
