/** The table of the guide, from what was seen in every cell. */
import type { Guarantee } from '@weir/core/internal/api/stream-execution-environment';
import { CELL_GROUPS, SEEN_AT, SINKS } from './cell.ts';
import type { CellGroup, Seen, SinkKind } from './cell.ts';
import type { CellResult } from './run-cells.ts';

export const TABLE_BEGIN = '<!-- Written by `npm run guarantees` from what was seen. -->';
export const TABLE_END = '<!-- The end of what `npm run guarantees` writes. -->';

const SOURCE_WORDS: Readonly<Record<CellGroup['source'], string>> = {
  offsets: 'can be read again',
  none: 'cannot',
};
const MODE_WORDS: Readonly<Record<CellGroup['mode'], string>> = {
  OFF: 'off',
  AT_LEAST_ONCE: '`AT_LEAST_ONCE`',
  EXACTLY_ONCE: '`EXACTLY_ONCE`',
};
const SINK_WORDS: Readonly<Record<SinkKind, string>> = {
  unacknowledged: 'unacknowledged',
  plain: 'plain',
  idempotent: 'idempotent',
  'idempotent-converging': 'idempotent, converges',
  'write-ahead-log-separate': 'log, separate',
  'write-ahead-log-atomic': 'log, atomic',
  'two-phase-commit': 'two-phase',
};
const LEVEL_WORDS: Readonly<Record<Guarantee, string>> = {
  none: '–',
  'at-most-once': '≤ 1',
  'at-least-once': '≥ 1',
  'exactly-once': '**1**',
};

/** Between the two marks of the page. */
export function guaranteeTable(results: readonly CellResult[]): string {
  const sinks = SINKS.map((sink) => SINK_WORDS[sink]);
  const head = ['source', 'checkpoints', 'operators', ...sinks];
  const rows: string[][] = [];
  for (const { source, mode, operator } of CELL_GROUPS) {
    const cells = SINKS.map((sink) =>
      wordOf(
        results.find(
          (it) =>
            it.source === source &&
            it.mode === mode &&
            it.operator === operator &&
            it.sink === sink,
        ),
      ),
    );
    const row = [SOURCE_WORDS[source], MODE_WORDS[mode], operator, ...cells];
    const same = rows.find((it) => isSame(it, row));
    if (same === undefined) rows.push(row);
    else same[2] = `${same[2]}, ${operator}`;
  }
  const lines = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`);
  return [TABLE_BEGIN, '', ...lines, '', TABLE_END].join('\n');
}

/** But for the operator. */
function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word, index) => index === 2 || word === b[index]);
}

function wordOf(result: CellResult | undefined): string {
  if (result === undefined) return '?';
  const level = levelOf(result.seen);
  return `${LEVEL_WORDS[level]}${result.isPassingInconsistent ? ' ⟲' : ''}`;
}

/** What was seen, as a level. */
export function levelOf(seen: Seen): Guarantee {
  const levels = Object.entries(SEEN_AT) as [Guarantee, Seen][];
  const found = levels.find(
    ([, it]) => it.isLost === seen.isLost && it.isDoubled === seen.isDoubled,
  );
  return found?.[0] ?? 'none';
}
