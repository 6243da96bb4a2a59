/**
 * Reads the partitions of one subtask. `poll` takes records from what was fetched, partition after
 * partition, and never waits; state is the position of every partition, those read to their end
 * included: restored as an unbounded source they go on.
 */
import { messageOf, SerializationError } from '@weir/core';
import type {
  Counter,
  PollResult,
  ReaderOutput,
  SourceReader,
  SourceReaderContext,
} from '@weir/core';
import type { KafkaCluster } from '../client/cluster.ts';
import { asWeirError, KafkaError } from '../client/kafka-errors.ts';
import type { KafkaDeserializer } from '../formats/serde.ts';
import { Fetcher } from './fetcher.ts';
import type { FetchSettings } from './fetcher.ts';
import { ALL_ASSIGNED } from './kafka-enumerator.ts';
import type { Stops } from './kafka-enumerator.ts';
import { splitId } from './kafka-split.ts';
import type { KafkaSplit } from './kafka-split.ts';
import { LagMetrics } from './lag-metrics.ts';
import { MalformedRecord } from './malformed-record.ts';
import { OffsetCommitter } from './offset-committer.ts';
import { PartitionReader } from './partition-reader.ts';
import { resolveOffsets } from './start-offsets.ts';

export interface KafkaSourceReaderOptions<T> {
  readonly value: KafkaDeserializer<T>;
  readonly fetch: FetchSettings;
  readonly onMalformed: 'fail' | 'skip' | 'emit';
  readonly onOutOfRange: 'fail' | 'earliest' | 'latest';
  /** Group whose committed offsets show the progress; `null`: none. */
  readonly groupId: string | null;
  readonly isBounded: boolean;
}

const EXCERPT_BYTES = 200;

export class KafkaSourceReader<T> implements SourceReader<T | MalformedRecord, KafkaSplit> {
  readonly #context: SourceReaderContext;
  readonly #cluster: KafkaCluster;
  readonly #options: KafkaSourceReaderOptions<T>;
  readonly #fetcher: Fetcher;
  readonly #lag: LagMetrics;
  readonly #commits: OffsetCommitter | null;
  #partitions: PartitionReader[] = [];
  /** Read to their end. */
  readonly #finished: KafkaSplit[] = [];
  /** Restored without the end that a bounded source needs; the enumerator will tell it. */
  #endless: KafkaSplit[] = [];
  #turn = 0;
  #isLastKnown = false;
  /** What is known of partitions was handed out: without one this reader is idle. */
  #isAllAssigned = false;
  #malformed: Counter | null = null;

  constructor(
    context: SourceReaderContext,
    cluster: KafkaCluster,
    options: KafkaSourceReaderOptions<T>,
  ) {
    const { clock, metrics } = context;
    this.#context = context;
    this.#cluster = cluster;
    this.#options = options;
    this.#lag = new LagMetrics(metrics, clock);
    this.#commits =
      options.groupId === null ? null : new OffsetCommitter(cluster, metrics, options.groupId);
    this.#fetcher = new Fetcher({
      cluster,
      clock,
      settings: options.fetch,
      onProgress: () => context.wakeUp(),
      onFetched: (partition, fetched) => this.#lag.update(partition, fetched),
      onOutOfRange: (partition) => this.#outOfRange(partition),
    });
  }

  start(): void {
    // Connections are opened with the first split.
  }

  poll(output: ReaderOutput<T | MalformedRecord>): PollResult {
    if (this.#fetcher.failure !== null)
      throw asWeirError('SOURCE_UNAVAILABLE', this.#fetcher.failure.error);
    this.#dropFinished(output);
    const count = this.#partitions.length;
    for (let index = 0; index < count; index++) {
      const partition = this.#partitions[(this.#turn + index) % count];
      if (partition === undefined || !partition.advance()) continue;
      // The others come first next time: no partition runs ahead in event time.
      this.#turn = (this.#turn + index + 1) % count;
      this.#read(partition, output);
      this.#fetcher.wake();
      return 'more';
    }
    this.#dropFinished(output);
    if (this.#partitions.length === 0 && this.#endless.length === 0) {
      if (this.#isLastKnown) return 'end';
      if (this.#isAllAssigned) output.hasNoSplit?.();
    }
    this.#fetcher.wake();
    return 'nothing';
  }

  addSplits(splits: readonly KafkaSplit[]): void {
    const { isBounded, fetch } = this.#options;
    for (const split of splits) {
      if (this.#partitions.some((it) => it.id === splitId(split))) continue;
      if (isBounded && split.stop === null) {
        this.#endless.push(split);
        continue;
      }
      const settled = isBounded ? split : { ...split, stop: null };
      const partition = new PartitionReader(settled, fetch.readCommitted);
      this.#partitions.push(partition);
      this.#fetcher.add(partition);
    }
    this.#context.wakeUp();
  }

  notifyNoMoreSplits(): void {
    this.#isLastKnown = true;
    this.#context.wakeUp();
  }

  handleEvent(event: unknown): void {
    if (event === ALL_ASSIGNED) {
      this.#isAllAssigned = true;
      this.#context.wakeUp();
    } else if (isStops(event)) {
      const endless = this.#endless;
      this.#endless = [];
      this.addSplits(endless.map((it) => ({ ...it, stop: event.stops[splitId(it)] ?? 0 })));
    }
  }

  snapshotState(checkpointId: number): readonly KafkaSplit[] {
    const open = this.#partitions.map((partition) => partition.snapshot());
    const splits = [...open, ...this.#finished, ...this.#endless];
    this.#commits?.remember(checkpointId, splits);
    return splits;
  }

  notifyCheckpointComplete(checkpointId: number): void {
    this.#commits?.commit(checkpointId);
  }

  async close(): Promise<void> {
    this.#fetcher.close();
    await this.#commits?.close();
    await this.#cluster.close();
  }

  #read(partition: PartitionReader, output: ReaderOutput<T | MalformedRecord>): void {
    const { value } = this.#options;
    const { record } = partition;
    while (output.remaining > 0 && partition.advance()) {
      let result: T | MalformedRecord | null;
      try {
        result = value.deserialize(record);
      } catch (error) {
        result = this.#malformedRecord(partition, error);
        if (result === null) {
          partition.pass();
          continue;
        }
      }
      partition.pass();
      output.collect(result, record.timestamp, partition.id);
    }
  }

  /** What to emit; `null`: nothing. */
  #malformedRecord(partition: PartitionReader, error: unknown): MalformedRecord | null {
    const { topic, partition: number, offset, timestamp, key, value } = partition.record;
    const reason = messageOf(error);
    if (this.#options.onMalformed === 'fail') {
      const excerpt = value?.subarray(0, EXCERPT_BYTES).toString() ?? null;
      throw new SerializationError(
        `${partition.id} offset ${offset} cannot be read: ${reason}; the value begins ` +
          `${JSON.stringify(excerpt)}; mend the producer, or choose what happens to such records ` +
          'with onMalformed',
        {
          code: 'RECORD_MALFORMED',
          details: { topic, partition: number, offset, value: excerpt },
          cause: error,
        },
      );
    }
    this.#malformed ??= this.#context.metrics.counter('malformedRecords');
    this.#malformed.add();
    if (this.#options.onMalformed === 'skip') return null;
    return new MalformedRecord({ topic, partition: number, offset, timestamp, key, value, reason });
  }

  /** A partition that is read to its end no longer holds back the event time of the others. */
  #dropFinished(output: ReaderOutput<T | MalformedRecord>): void {
    if (!this.#partitions.some((partition) => partition.isFinished)) return;
    for (const partition of this.#partitions) {
      if (!partition.isFinished) continue;
      this.#fetcher.remove(partition);
      this.#lag.remove(partition);
      this.#finished.push(partition.snapshot());
      output.splitFinished?.(partition.id);
    }
    this.#partitions = this.#partitions.filter((partition) => !partition.isFinished);
  }

  async #outOfRange(partition: PartitionReader): Promise<void> {
    const { topic, partition: number, next } = partition;
    const query = { topic, partitions: [number], readCommitted: false, groupId: null };
    const first = (await resolveOffsets(this.#cluster, query, 'earliest')).get(number) ?? 0;
    const end = (await resolveOffsets(this.#cluster, query, 'latest')).get(number) ?? 0;
    const { onOutOfRange } = this.#options;
    if (onOutOfRange === 'fail') throw outOfRange(partition.id, next, { first, end });
    const target = onOutOfRange === 'earliest' ? first : end;
    const skipped = Math.max(0, target - next);
    this.#context.metrics.counter('recordsSkippedOutOfRange').add(skipped);
    this.#context.logger.log('warn', `${partition.id}: goes on at ${target} instead of ${next}`);
    partition.seek(target);
  }
}

function isStops(event: unknown): event is Stops {
  return typeof event === 'object' && event !== null && 'kind' in event && event.kind === 'stops';
}

function outOfRange(
  id: string,
  next: number,
  { first, end }: { readonly first: number; readonly end: number },
): KafkaError {
  const text =
    next < first
      ? `offsets ${next}..${first - 1} of ${id} no longer exist; going on would lose ` +
        `${first - next} record(s)`
      : `offset ${next} of ${id} does not exist yet, the partition ends at ${end}: records were ` +
        'truncated, or the topic was made anew';
  return new KafkaError(
    `${text}; choose onOutOfRange: 'earliest' or 'latest' to go on all the same`,
    {
      isTransient: false,
      errorCode: 1,
    },
  );
}
