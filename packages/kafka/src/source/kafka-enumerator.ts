/**
 * Finds partitions and gives each to one reader. A partition's start and stop are resolved to
 * numbers when it is found and stored, so a restore before its first record loses nothing.
 * Partitions found later start at their beginning. A partition that is gone from the broker's list
 * is reported and kept: its position stays in state. A topic that was made anew ends the job.
 *
 * A job may be restored with another `bounded` than it was stopped with: partitions without an end
 * get one at the start, and those with one lose it.
 */
import type { SplitEnumerator, SplitEnumeratorContext, Timer } from '@weir/core';
import type { KafkaCluster } from '../client/cluster.ts';
import { asWeirError } from '../client/kafka-errors.ts';
import type { TopicMetadata } from '../wire/metadata.ts';
import { recreatedTopic } from './fetcher.ts';
import { splitId } from './kafka-split.ts';
import type { KafkaEnumeratorState, KafkaSplit } from './kafka-split.ts';
import { resolveOffsets } from './start-offsets.ts';
import type { StartPosition, StopPosition } from './start-offsets.ts';

export interface KafkaEnumeratorOptions {
  readonly topics: readonly string[];
  readonly start: StartPosition;
  readonly stop: StopPosition | null;
  readonly readCommitted: boolean;
  readonly groupId: string | null;
  /** `null`: only once, at the start. */
  readonly discoveryIntervalMs: number | null;
}

/** To a reader: it has every partition known today that is meant for it. */
export const ALL_ASSIGNED = 'all-assigned';

/** To a reader of a bounded source: where partitions end that were restored without an end. */
export interface Stops {
  readonly kind: 'stops';
  /** By split id. */
  readonly stops: Readonly<Record<string, number>>;
}

/** The end of a partition that the broker no longer has, or of a topic no longer asked for. */
const NOTHING = 0;

export class KafkaEnumerator implements SplitEnumerator<KafkaSplit, KafkaEnumeratorState> {
  readonly #context: SplitEnumeratorContext<KafkaSplit>;
  readonly #cluster: KafkaCluster;
  readonly #options: KafkaEnumeratorOptions;
  readonly #found = new Map<string, KafkaSplit>();
  readonly #missing = new Set<string>();
  #unassigned: KafkaSplit[] = [];
  #isStarted = false;
  #discovering: Promise<void> = Promise.resolve();
  #timer: Timer | null = null;
  #isClosed = false;

  constructor(
    context: SplitEnumeratorContext<KafkaSplit>,
    cluster: KafkaCluster,
    options: KafkaEnumeratorOptions,
    restored: KafkaEnumeratorState | undefined,
  ) {
    this.#context = context;
    this.#cluster = cluster;
    this.#options = options;
    for (const split of restored?.found ?? []) this.#found.set(splitId(split), split);
    this.#unassigned = [...(restored?.unassigned ?? [])];
    this.#isStarted = restored?.isStarted ?? false;
  }

  async start(): Promise<void> {
    try {
      await this.#discover();
      await this.#settleStops();
    } catch (error) {
      throw asWeirError('SOURCE_UNAVAILABLE', error);
    }
    this.#isStarted = true;
    this.#assign();
    this.#scheduleDiscovery();
  }

  handleSplitRequest(): void {
    // Splits are handed out when found; readers need not ask.
  }

  addReader(): void {
    this.#assign();
  }

  addSplitsBack(splits: readonly KafkaSplit[]): void {
    this.#unassigned.push(...splits);
    this.#assign();
  }

  snapshotState(): KafkaEnumeratorState {
    return {
      found: [...this.#found.values()],
      unassigned: [...this.#unassigned],
      isStarted: this.#isStarted,
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#cluster.close();
    await this.#discovering.catch(() => undefined);
  }

  #scheduleDiscovery(): void {
    const { discoveryIntervalMs } = this.#options;
    if (discoveryIntervalMs === null || this.#isClosed) return;
    this.#timer = this.#context.clock.schedule(discoveryIntervalMs, 'kafka-discovery', () => {
      this.#discovering = this.#discover().then(
        () => this.#assign(),
        (error: unknown) => this.#discoveryFailed(asWeirError('SOURCE_UNAVAILABLE', error)),
      );
      void this.#discovering.then(() => this.#scheduleDiscovery());
    });
  }

  /** A broker that is away is met again at the next discovery; the readers notice it themselves. */
  #discoveryFailed(error: unknown): void {
    if (this.#isClosed) return;
    const isTransient = (error as { kind?: unknown }).kind === 'transient';
    if (!isTransient) return this.#context.fail(error);
    this.#context.logger.log('warn', `kafkaSource could not look for partitions: ${String(error)}`);
  }

  async #discover(): Promise<void> {
    for (const topic of this.#options.topics) {
      const metadata = await this.#cluster.refreshTopic(topic);
      this.#checkKnown(metadata);
      const added = metadata.partitions
        .map((it) => it.partition)
        .filter((partition) => !this.#found.has(`${topic}/${partition}`));
      if (added.length > 0) await this.#addPartitions(metadata, added);
    }
  }

  async #addPartitions(metadata: TopicMetadata, partitions: readonly number[]): Promise<void> {
    const { start, stop, readCommitted, groupId } = this.#options;
    const query = { topic: metadata.name, partitions, readCommitted, groupId };
    const starts = await resolveOffsets(this.#cluster, query, this.#isStarted ? 'earliest' : start);
    const stops = stop === null ? null : await resolveOffsets(this.#cluster, query, stop);
    for (const partition of partitions) {
      const split: KafkaSplit = {
        topic: metadata.name,
        topicId: metadata.topicId,
        partition,
        next: starts.get(partition) ?? 0,
        stop: stops === null ? null : (stops.get(partition) ?? 0),
      };
      this.#found.set(splitId(split), split);
      this.#unassigned.push(split);
    }
  }

  async #settleStops(): Promise<void> {
    const { stop, topics, readCommitted, groupId } = this.#options;
    const stops = new Map<string, number>();
    for (const topic of stop === null ? [] : topics) {
      const open = [...this.#found.values()].filter((it) => it.topic === topic && it.stop === null);
      const partitions = open
        .filter((split) => !this.#missing.has(splitId(split)))
        .map((split) => split.partition);
      if (stop === null || open.length === 0) continue;
      const query = { topic, partitions, readCommitted, groupId };
      for (const [partition, end] of await resolveOffsets(this.#cluster, query, stop))
        stops.set(splitId({ topic, partition }), end);
    }
    const settled = (split: KafkaSplit): KafkaSplit => {
      if (stop === null) return { ...split, stop: null };
      return { ...split, stop: split.stop ?? stops.get(splitId(split)) ?? NOTHING };
    };
    for (const [id, split] of this.#found) this.#found.set(id, settled(split));
    this.#unassigned = this.#unassigned.map(settled);
  }

  #stops(): Stops {
    const stops: Record<string, number> = {};
    for (const [id, { stop }] of this.#found) stops[id] = stop ?? NOTHING;
    return { kind: 'stops', stops };
  }

  #checkKnown({ name, topicId, partitions }: TopicMetadata): void {
    for (const [id, split] of this.#found) {
      if (split.topic !== name) continue;
      if (split.topicId !== topicId) throw recreatedTopic(name, split.topicId, topicId);
      const isThere = partitions.some((it) => it.partition === split.partition);
      if (isThere) this.#missing.delete(id);
      else if (!this.#missing.has(id)) {
        this.#missing.add(id);
        this.#context.logger.log(
          'warn',
          `kafkaSource: the broker no longer lists ${id}; its position is kept`,
        );
      }
    }
  }

  #assign(): void {
    if (!this.#isStarted || this.#isClosed) return;
    const readers = this.#context.registeredReaders();
    const waiting = this.#unassigned;
    this.#unassigned = [];
    for (const split of waiting) {
      const owner = this.#ownerOf(split);
      if (readers.includes(owner)) this.#context.assignSplits(owner, [split]);
      else this.#unassigned.push(split);
    }
    // Whoever has no partition by now is idle; the end of a bounded input is known as well.
    for (const reader of readers)
      if (this.#options.stop === null) this.#context.sendEvent(reader, ALL_ASSIGNED);
      else {
        this.#context.sendEvent(reader, this.#stops());
        this.#context.signalNoMoreSplits(reader);
      }
  }

  #ownerOf({ topic, partition }: KafkaSplit): number {
    const { parallelism } = this.#context;
    return (Math.abs(this.#options.topics.indexOf(topic)) + partition) % parallelism;
  }
}
