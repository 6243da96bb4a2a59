/** Metrics of a job as the REST API shows them: names are Flink's, values are texts. Pure. */
import type { TaskFacts } from '../jobmanager/run-history.ts';
import type { LatencyStatistics } from '../protocol/messages.ts';
import type { MetricJson } from './contract.ts';

const NUMBERS = [
  'count',
  'min',
  'max',
  'mean',
  'stddev',
  'median',
  'p75',
  'p90',
  'p95',
  'p98',
  'p99',
  'p999',
] as const;

/** With `names` the values of those that there are; else only what there is. */
export function metricsView(
  tasks: readonly TaskFacts[],
  names: readonly string[] | null,
): readonly MetricJson[] {
  const values = new Map<string, number>();
  for (const { execution, metrics } of tasks)
    for (const latency of metrics?.latencies ?? []) {
      const name = latencyName(latency, execution.subtask);
      for (const number of NUMBERS) values.set(`${name}_${number}`, latency[number]);
    }
  if (names === null) return [...values.keys()].map((id) => ({ id }));
  return names.flatMap((id) => {
    const value = values.get(id);
    return value === undefined ? [] : [{ id, value: String(value) }];
  });
}

function latencyName(latency: LatencyStatistics, subtask: number): string {
  const { sourceId, sourceSubtask, operatorId } = latency;
  const source = sourceId === null ? '' : `source_id.${sourceId}.`;
  const part = sourceSubtask === null ? '' : `source_subtask_index.${sourceSubtask}.`;
  const operator = `operator_id.${operatorId}.operator_subtask_index.${subtask}`;
  return `latency.${source}${part}${operator}.latency`;
}
