/** The last so many latencies, and what can be said of them. Sorts only when it is asked. */
import type { LatencyNumbers } from '../../protocol/messages.ts';

export class LatencyHistogram {
  readonly #samples: Float64Array;
  /** All that were ever added. */
  #count = 0;

  constructor(size: number) {
    this.#samples = new Float64Array(size);
  }

  add(ms: number): void {
    this.#samples[this.#count % this.#samples.length] = ms;
    this.#count++;
  }

  /** Quantiles as Flink takes them: between two samples, in proportion. */
  numbers(): LatencyNumbers {
    const sorted = this.#samples.slice(0, this.#count).sort();
    const size = Math.max(1, sorted.length);
    const mean = sorted.reduce((sum, ms) => sum + ms, 0) / size;
    const squares = sorted.reduce((sum, ms) => sum + (ms - mean) ** 2, 0);
    const at = (share: number): number => quantile(sorted, share);
    return {
      count: this.#count,
      min: sorted[0] ?? 0,
      max: sorted.at(-1) ?? 0,
      mean,
      stddev: Math.sqrt(squares / Math.max(1, size - 1)),
      median: at(0.5),
      p75: at(0.75),
      p90: at(0.9),
      p95: at(0.95),
      p98: at(0.98),
      p99: at(0.99),
      p999: at(0.999),
    };
  }
}

function quantile(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length + 1);
  const below = Math.min(Math.max(Math.floor(place), 1), sorted.length);
  const low = sorted[below - 1] ?? 0;
  const high = sorted[Math.min(below, sorted.length - 1)] ?? low;
  return low + Math.min(1, Math.max(0, place - below)) * (high - low);
}
