import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExecutionRef, VertexId } from '../base/ids.ts';
import { CheckpointStatistics } from './checkpoint-statistics.ts';

const METRICS = { alignmentMs: 0, startDelayMs: 0, syncMs: 0, asyncMs: 0 };

function execution(subtask: number): ExecutionRef {
  return { vertexId: 'v' as VertexId, subtask, attempt: { epoch: 1, counter: 0 } };
}

test('a checkpoint in progress shows who has acknowledged it so far', () => {
  const statistics = new CheckpointStatistics(10, () => 0);
  const executions = [execution(0), execution(1)];
  const begun = { checkpointId: 1, kind: 'checkpoint', stopsJob: false, timestamp: 0 } as const;
  statistics.started({ type: 'checkpointStarted', ...begun, executions });
  const acknowledged = {
    execution: execution(1),
    metrics: METRICS,
    sizeBytes: 10,
    latencyMs: 70,
  };
  statistics.acknowledged({ type: 'subtaskAcknowledged', checkpointId: 1, acknowledged });
  const [facts] = statistics.summary().history;
  assert.equal(facts?.status, 'IN_PROGRESS');
  assert.deepEqual(facts?.acknowledged, [acknowledged]);
});
