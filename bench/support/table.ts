/** A row as a line of a Markdown table. */
import type { Row, RowResult } from './row.ts';

export const TABLE_HEAD: string = [
  '| row | value | baseline | ratio | by CPU time | must reach | reach for | met | beside |',
  '|---|---|---|---|---|---|---|---|---|',
].join('\n');

export function tableLine(row: Row, result: RowResult): string {
  const { value, unit, baseline, ratio, cpuRatio, mustReach, reachFor, met, notes } = result;
  const limit = (bound: number | null): string => {
    if (bound === null) return '';
    const sign = row.direction === 'atLeast' ? '≥' : '≤';
    return `${sign} ${bound}${row.compares === 'ratio' ? '' : ` ${unit}`}`;
  };
  const cells = [
    `${row.title} (\`${row.name}\`)`,
    `${number(value)} ${unit}`,
    baseline === null ? '' : `${number(baseline)} ${unit}`,
    ratio === null ? '' : number(ratio),
    cpuRatio === null ? '' : number(cpuRatio),
    limit(mustReach),
    limit(reachFor),
    met ? 'yes' : '**no**',
    Object.entries(notes)
      .map(([name, note]) => `${name} ${typeof note === 'number' ? number(note) : note}`)
      .join(', '),
  ];
  return `| ${cells.join(' | ')} |`;
}

function number(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(2 + (value >= 10 ? 1 : 0));
}
