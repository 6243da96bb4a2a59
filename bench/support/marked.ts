/**
 * Latency beside throughput: runs with markers, which wait where records wait, and what they told.
 * The engine reports about once a second, so a run has to take longer than that.
 */
import type { ConfigSettings, RunEvent } from '@weir/core';
import { median } from './row.ts';

export const MARKED: ConfigSettings = { 'metrics.latency.interval': '20ms' };

export class MarkedLatency {
  readonly #medians: number[] = [];
  readonly #p99s: number[] = [];

  readonly onEvent = (event: RunEvent): void => {
    if (event.type !== 'progress') return;
    for (const task of event.tasks)
      for (const { median: middle, p99 } of task.latencies) {
        this.#medians.push(middle);
        this.#p99s.push(p99);
      }
  };

  /** Milliseconds, of records on their way while the row ran at full speed. */
  notes(): Readonly<Record<string, number>> {
    if (this.#medians.length === 0) return {};
    return { latencyP50: median(this.#medians), latencyP99: median(this.#p99s) };
  }
}
