/**
 * Latency markers of one task. A source makes one from time to time; it goes the way of the records
 * between them, over one channel of each edge, chosen at random, and waits wherever they wait.
 * Every operator that it passes notes how old it is. As in Flink that is the time in queues and on
 * the wire: what functions do between two markers is not in it, except as others wait for it.
 * Costs nothing while the interval is 0; a marker costs about a microsecond.
 */
import type { Clock } from '../../base/clock.ts';
import type { OperatorId } from '../../base/ids.ts';
import type { Random } from '../../base/random.ts';
import type { LatencyMarker } from '../../network/frame.ts';
import type { ResultPartition } from '../../network/result-partition.ts';
import type { LatencyStatistics } from '../../protocol/messages.ts';
import { LatencyHistogram } from './latency-histogram.ts';

export type LatencyGranularity = 'single' | 'operator' | 'subtask';

export interface LatencySettings {
  /** Milliseconds between two markers of a source; 0: none. */
  readonly intervalMs: number;
  /** What has a histogram of its own: an operator, its sources apart, their subtasks apart. */
  readonly granularity: LatencyGranularity;
  /** Markers that a histogram looks back on. */
  readonly historySize: number;
}

export interface LatencyMarkersOptions {
  readonly settings: LatencySettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly subtask: number;
  /** Of the chain, head first. */
  readonly operators: readonly OperatorId[];
  /** The head makes markers, and is not on their way. */
  readonly isSource: boolean;
  readonly partitions: readonly ResultPartition[];
}

interface Entry {
  readonly facts: Pick<LatencyStatistics, 'operatorId' | 'sourceId' | 'sourceSubtask'>;
  readonly histogram: LatencyHistogram;
}

export class LatencyMarkers {
  readonly #options: LatencyMarkersOptions;
  readonly #passed: readonly OperatorId[];
  readonly #entries = new Map<string, Entry>();
  #nextAt: number;

  constructor(options: LatencyMarkersOptions) {
    this.#options = options;
    const { operators, isSource, settings } = options;
    this.#passed = isSource ? operators.slice(1) : operators;
    this.#nextAt = isSource && settings.intervalMs > 0 ? 0 : Infinity;
  }

  /** When the source wants to make its next marker; null: never. */
  get nextAt(): number | null {
    return this.#nextAt === Infinity ? null : this.#nextAt;
  }

  /** Between two records, while the network has room. */
  makeIfDue(now: number): void {
    if (now < this.#nextAt) return;
    const { settings, operators, subtask, clock } = this.#options;
    this.#nextAt = now + settings.intervalMs;
    const [sourceId] = operators;
    if (sourceId === undefined) return;
    this.pass({ sourceId, sourceSubtask: subtask, markedAt: clock.wallTime() });
  }

  /** A marker is here: every record before it has been handled. */
  pass(marker: LatencyMarker): void {
    const { clock, partitions, random } = this.#options;
    // Clocks of different machines may differ.
    const ms = Math.max(0, clock.wallTime() - marker.markedAt);
    for (const operatorId of this.#passed) this.#histogramOf(operatorId, marker).add(ms);
    for (const partition of partitions) {
      const { length } = partition.subpartitions;
      if (length > 0) partition.emitMarker(length === 1 ? 0 : random.int(length), marker);
    }
  }

  report(): readonly LatencyStatistics[] {
    return [...this.#entries.values()].map(({ facts, histogram }) => ({
      ...facts,
      ...histogram.numbers(),
    }));
  }

  #histogramOf(operatorId: OperatorId, marker: LatencyMarker): LatencyHistogram {
    const { granularity, historySize } = this.#options.settings;
    const sourceId = granularity === 'single' ? null : marker.sourceId;
    const sourceSubtask = granularity === 'subtask' ? marker.sourceSubtask : null;
    const key = `${operatorId} ${sourceId} ${sourceSubtask}`;
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      const facts = { operatorId, sourceId, sourceSubtask };
      entry = { facts, histogram: new LatencyHistogram(historySize) };
      this.#entries.set(key, entry);
    }
    return entry.histogram;
  }
}
