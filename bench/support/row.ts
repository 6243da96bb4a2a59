/** A row of the table: what is measured and what it has to reach. */

/** Whether more or less is better. */
export type Direction = 'atLeast' | 'atMost';

export interface Row {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  /** What `mustReach` is held against: the ratio to the baseline, or the value itself. */
  readonly compares: 'ratio' | 'value';
  readonly direction: Direction;
  readonly mustReach: number;
  readonly reachFor: number | null;
  /**
   * Smallest throughput that counts whatever the ratio, so that a slow loop flatters nobody. In
   * seconds of CPU time of the row's threads, so that a busy machine blames nobody.
   */
  readonly floor?: number;
  /** Only with `--long`. */
  readonly long?: boolean;
  measure(): Promise<Measured>;
}

export interface Measured {
  readonly value: number;
  readonly baseline: number | null;
  /** Of CPU time instead of wall time: for machines that others use as well. */
  readonly cpuRatio?: number;
  /** The value had all threads run all the time: by CPU time. */
  readonly cpuValue?: number;
  /** Facts beside the number. */
  readonly notes?: Readonly<Record<string, number | string>>;
}

export interface RowResult {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly baseline: number | null;
  readonly ratio: number | null;
  readonly mustReach: number;
  readonly met: boolean;
  readonly reachFor: number | null;
  readonly cpuRatio: number | null;
  readonly cpuValue: number | null;
  readonly notes: Readonly<Record<string, number | string>>;
}

export function resultOf(row: Row, measured: Measured): RowResult {
  const { value, baseline, cpuRatio, cpuValue, notes } = measured;
  const ratio = baseline === null ? null : value / baseline;
  const compared = row.compares === 'ratio' ? (ratio ?? Number.NaN) : value;
  const reached =
    row.direction === 'atLeast' ? compared >= row.mustReach : compared <= row.mustReach;
  return {
    name: row.name,
    value,
    unit: row.unit,
    baseline,
    ratio,
    mustReach: row.mustReach,
    met: reached && Math.max(value, cpuValue ?? value) >= (row.floor ?? -Infinity),
    reachFor: row.reachFor,
    cpuRatio: cpuRatio ?? null,
    cpuValue: cpuValue ?? null,
    notes: notes ?? {},
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
