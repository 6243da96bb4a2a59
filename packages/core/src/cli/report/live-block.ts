/**
 * The block that a terminal shows while a job runs, from what is known at a moment:
 *
 *     order-totals  running  1 min 5 s  1 restart
 *       Source: orders -> Map  x2   12.3k/s   1,234,567  [######==..] 60 %
 *       totals                 x2   12.3k/s   1,234,560  [##........] 20 %
 *       checkpoint 12: 3.0 s ago, took 45 ms, 1.20 MB
 *
 * The bar is the share of time at work, then that of waiting for the consumer. Pure.
 */
import {
  formatBytes,
  formatCount,
  formatElapsed,
  formatNumberOf,
  formatRate,
  formatShare,
} from '../text/format.ts';
import type { Style } from '../text/style.ts';
import { displayWidth, oneLine, padEnd, padStart, truncate } from '../text/width.ts';
import type { RunProgress, VertexView } from './run-progress.ts';

export interface BlockSpace {
  readonly columns: number;
  readonly rows: number;
  readonly now: number;
  readonly style: Style;
}

const BAR_CELLS = 10;
/** Columns a name keeps before the figures behind it are left out. */
const NAME_COLUMNS_MIN = 16;

/** Lines of at most `columns - 1` columns, fewer than `rows`. */
export function liveBlock(progress: RunProgress, space: BlockSpace): readonly string[] {
  // A line as wide as the terminal would wrap on some of them.
  const columns = Math.max(1, space.columns - 1);
  const lines = [headline(progress, space, columns)];
  const rowsLeft = Math.max(1, space.rows - 3);
  const shown = progress.vertices.slice(0, rowsLeft);
  lines.push(...vertexLines(shown, space.style, columns));
  const hidden = progress.vertices.length - shown.length;
  if (hidden > 0) lines[lines.length - 1] = truncate(`  … and ${hidden + 1} more`, columns);
  lines.push(space.style.faint(truncate(`  ${checkpointText(progress, space.now)}`, columns)));
  return lines;
}

function headline(progress: RunProgress, { now, style }: BlockSpace, columns: number): string {
  const status = progress.status.toLowerCase();
  const elapsed = formatElapsed(now - progress.startedAt);
  const restarts = progress.restarts === 0 ? '' : formatNumberOf(progress.restarts, 'restart');
  const facts = [status, elapsed, restarts].filter((fact) => fact !== '').join('  ');
  const nameColumns = Math.max(NAME_COLUMNS_MIN, columns - displayWidth(facts) - 2);
  const name = truncate(oneLine(progress.jobName), nameColumns);
  const plain = `${name}  ${facts}`;
  if (displayWidth(plain) > columns) return truncate(plain, columns);
  const colour = progress.status === 'RUNNING' ? style.good : style.warning;
  const coloured = [colour(status), style.faint(elapsed), style.warning(restarts)];
  const texts = coloured.filter((_, index) => [status, elapsed, restarts][index] !== '');
  return [style.strong(name), ...texts].join('  ');
}

function vertexLines(
  vertices: readonly VertexView[],
  style: Style,
  columns: number,
): readonly string[] {
  const figures = vertices.map((vertex) => [
    `x${vertex.parallelism}`,
    formatRate(vertex.perSecond),
    formatCount(vertex.records),
  ]);
  const widths = [0, 1, 2].map((cell) => Math.max(0, ...figures.map((row) => row[cell]!.length)));
  const barWidth = BAR_CELLS + 2 + ' 100 %'.length;
  const figuresWidth = widths.reduce((sum, width) => sum + width + 2, 0);
  const hasBar = columns >= 2 + NAME_COLUMNS_MIN + figuresWidth + 2 + barWidth;
  const nameSpace = columns - 2 - figuresWidth - (hasBar ? barWidth + 2 : 0);
  const longest = Math.max(0, ...vertices.map(({ name }) => displayWidth(oneLine(name))));
  const nameColumns = Math.max(1, Math.min(nameSpace, longest));

  return vertices.map((vertex, index) => {
    const name = padEnd(truncate(oneLine(vertex.name), nameColumns), nameColumns);
    const cells = figures[index]!.map((text, cell) => `  ${padStart(text, widths[cell]!)}`);
    const text = truncate(`  ${name}${cells.join('')}`, columns);
    const counters = vertex.counters.map(([key, count]) => `${key} ${formatCount(count)}`);
    const line = hasBar ? `${text}  ${bar(vertex, style)}` : text;
    const extra = counters.length === 0 ? '' : `  ${oneLine(counters.join(', '))}`;
    return displayWidth(line + extra) <= columns ? line + extra : line;
  });
}

function bar({ busy, backPressured }: VertexView, style: Style): string {
  const busyCells = Math.round(busy * BAR_CELLS);
  const blockedCells = Math.min(BAR_CELLS - busyCells, Math.round(backPressured * BAR_CELLS));
  const { cells } = style;
  return (
    `[${style.good(cells.busy.repeat(busyCells))}` +
    style.warning(cells.blocked.repeat(blockedCells)) +
    `${style.faint(cells.idle.repeat(BAR_CELLS - busyCells - blockedCells))}]` +
    ` ${formatShare(busy)}`
  );
}

function checkpointText({ checkpoint, failedCheckpoints }: RunProgress, now: number): string {
  const failed = failedCheckpoints === 0 ? '' : `, ${formatCount(failedCheckpoints)} failed`;
  if (checkpoint === null) return `no checkpoint yet${failed}`;
  const { id, durationMs, sizeBytes, completedAt } = checkpoint;
  const age = formatElapsed(now - completedAt);
  return (
    `checkpoint ${id}: ${age} ago, took ${formatElapsed(durationMs)}, ` +
    `${formatBytes(sizeBytes)}${failed}`
  );
}
