/**
 * The table of contents of a snapshot for people:
 *
 *     checkpoint 12 of job order-totals (fd72…)
 *       /data/checkpoints/fd72…/chk-12
 *       completed 2026-11-29T18:00:00.000Z, 1.20 MB in 4 files
 *
 *     orders  Source: orders, 2 subtasks
 *       splits  list, 2 items, 120 B
 *
 * Pure.
 */
import { formatBytes, formatCount, formatNumberOf } from '../text/format.ts';
import { alignColumns, oneLine } from '../text/width.ts';
import type { OperatorFacts, SnapshotFacts, StateFacts } from './snapshot-facts.ts';

export function snapshotLines(facts: SnapshotFacts): readonly string[] {
  const place = facts.files === 0 ? '_metadata' : formatNumberOf(facts.files, 'file');
  return [
    `${facts.kind} ${facts.checkpointId} of job ${oneLine(facts.jobName)} (${facts.jobId})`,
    `  ${facts.directory}`,
    `  completed ${facts.completedAt}, ${formatBytes(facts.sizeBytes)} in ${place}`,
    ...facts.operators.flatMap(operatorLines),
  ];
}

function operatorLines(operator: OperatorFacts): readonly string[] {
  const { uid, id, name, parallelism, maxParallelism } = operator;
  const subtasks = formatNumberOf(parallelism, 'subtask');
  const title = uid === null ? `${id} (no uid)` : oneLine(uid);
  const head = `${title}  ${oneLine(name)}, ${subtasks} of at most ${formatCount(maxParallelism)}`;
  return ['', head, ...contentLines(operator).map((line) => `  ${line}`)];
}

function contentLines(operator: OperatorFacts): readonly string[] {
  const { keys, timers, sizeBytes, states, finished, enumeratorBytes } = operator;
  if (finished) return ['finished: no state left'];
  const rows = states.map((state) => [oneLine(state.name), describe(state)]);
  if (keys !== null) {
    const withTimers = timers === 0 ? '' : `, ${formatNumberOf(timers, 'timer')}`;
    rows.unshift([
      'keyed',
      `${formatNumberOf(keys, 'key')}${withTimers}, ${formatBytes(sizeBytes)}`,
    ]);
  }
  if (enumeratorBytes !== null) rows.push(['enumerator', formatBytes(enumeratorBytes)]);
  return rows.length === 0 ? ['no state'] : alignColumns(rows);
}

function describe({ kind, scope, items, sizeBytes }: StateFacts): string {
  if (scope === 'keyed') return kind;
  return `${kind}, ${formatNumberOf(items ?? 0, 'item')}, ${formatBytes(sizeBytes ?? 0)}`;
}
