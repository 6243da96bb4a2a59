import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OperatorId, VertexId } from '../base/ids.ts';
import type { TaskFacts } from '../jobmanager/run-history.ts';
import type { LatencyStatistics } from '../protocol/messages.ts';
import { metricsView } from './metrics-view.ts';

function task(latency: Partial<LatencyStatistics>): TaskFacts {
  const execution = {
    vertexId: 'v' as VertexId,
    subtask: 3,
    attempt: { epoch: 1, counter: 1 },
  };
  const latencies = [
    {
      operatorId: 'o' as OperatorId,
      sourceId: 's' as OperatorId,
      sourceSubtask: null,
      count: 2,
      min: 1,
      max: 4,
      mean: 2.5,
      stddev: 2,
      median: 2,
      p75: 3,
      p90: 4,
      p95: 4,
      p98: 4,
      p99: 4.5,
      p999: 4,
      ...latency,
    },
  ];
  const metrics = { execution, latencies } as unknown as TaskFacts['metrics'];
  return { execution, metrics, state: 'RUNNING', attemptNumber: 0, times: {} };
}

const BY_SOURCE = 'latency.source_id.s.operator_id.o.operator_subtask_index.3.latency_p99';

test('metrics are listed by name, and have values when they are asked for', () => {
  const names = metricsView([task({})], null);
  assert.equal(names.length, 12);
  assert.deepEqual(
    names.find(({ id }) => id === BY_SOURCE),
    { id: BY_SOURCE },
  );
  assert.deepEqual(metricsView([task({})], ['unknown', BY_SOURCE]), [
    { id: BY_SOURCE, value: '4.5' },
  ]);
});

test('the name of a latency says what was kept apart', () => {
  const nameOf = (latency: Partial<LatencyStatistics>): string | undefined =>
    metricsView([task(latency)], null)[0]?.id;
  const end = 'operator_id.o.operator_subtask_index.3.latency_count';
  assert.equal(nameOf({ sourceId: null }), `latency.${end}`);
  assert.equal(nameOf({ sourceSubtask: 1 }), `latency.source_id.s.source_subtask_index.1.${end}`);
});

test('a task that has not reported yet has no metrics', () => {
  assert.deepEqual(metricsView([{ ...task({}), metrics: null }], null), []);
});
