/**
 * A Kafka source against the model of a broker: an enumerator and its readers, with the engine's
 * part in between played by the fixture. For tests.
 */
import type { ReaderOutput, SourceReader, SplitEnumerator } from '@weir/core';
import { text } from '../formats/serde.ts';
import { kafkaSource } from '../kafka-source.ts';
import type { KafkaSourceOptions } from '../kafka-source.ts';
import { BatchBuilder, NO_IDENTITY } from '../records/batch-builder.ts';
import type { KafkaEnumeratorState, KafkaSplit } from '../source/kafka-split.ts';
import { MalformedRecord } from '../source/malformed-record.ts';
import type { World } from './sink-fixture.ts';

export interface SourceSnapshot {
  readonly enumerator: KafkaEnumeratorState;
  readonly splits: readonly KafkaSplit[];
}

export class SourceRun {
  readonly values: string[] = [];
  readonly counters: Map<string, number> = new Map();
  /** `subtask: what`, as readers told of their splits. */
  readonly told: string[] = [];
  failure: unknown = null;
  readonly #world: World;
  readonly #enumerator: SplitEnumerator<KafkaSplit, KafkaEnumeratorState>;
  readonly #readers: SourceReader<string | MalformedRecord, KafkaSplit>[];
  readonly #ended = new Set<number>();

  constructor(
    world: World,
    options: Partial<KafkaSourceOptions<string>> = {},
    { parallelism = 1, restored }: { parallelism?: number; restored?: SourceSnapshot } = {},
  ) {
    this.#world = world;
    const source = kafkaSource<string>(
      { bootstrap: 'model:9092', topics: 'out', value: text(), ...options },
      world.broker.connect,
    );
    const environment = {
      clock: world.clock,
      random: {} as never,
      fileSystem: {} as never,
      logger: { log: (_level: string, message: string) => void world.logged.push(message) },
    };
    const indexes = Array.from({ length: parallelism }, (_, index) => index);
    this.#enumerator = source.createEnumerator(
      {
        ...environment,
        parallelism,
        registeredReaders: () => indexes,
        assignSplits: (subtask, splits) => this.#readers[subtask]?.addSplits(splits),
        signalNoMoreSplits: (subtask) => this.#readers[subtask]?.notifyNoMoreSplits(),
        sendEvent: (subtask, event) => this.#readers[subtask]?.handleEvent?.(event),
        fail: (error) => {
          this.failure ??= error;
        },
      },
      restored?.enumerator,
    );
    this.#readers = indexes.map((subtask) =>
      source.createReader({
        ...environment,
        subtask,
        parallelism,
        metrics: {
          counter: (name) => ({
            add: (count = 1) => void this.counters.set(name, this.counter(name) + count),
          }),
        },
        sendSplitRequest: () => undefined,
        sendEvent: () => undefined,
        wakeUp: () => undefined,
      }),
    );
    for (const [index, split] of (restored?.splits ?? []).entries())
      this.#readers[index % parallelism]?.addSplits([split]);
  }

  counter(name: string): number {
    return this.counters.get(name) ?? 0;
  }

  start(): Promise<void> {
    return Promise.resolve(this.#enumerator.start());
  }

  /** Polls all readers until nothing new came for a while, or `count` values are there. */
  async read(count: number = Infinity): Promise<readonly string[]> {
    for (let quiet = 0; quiet < 12 && this.values.length < count; quiet++) {
      const before = this.values.length;
      for (const [index, reader] of this.#readers.entries())
        if (reader.poll(this.#output(count, index)) === 'end') this.#ended.add(index);
      if (this.values.length > before) quiet = 0;
      await new Promise((resolve) => this.#world.clock.schedule(20, 'poll', () => resolve(null)));
    }
    return this.values;
  }

  get hasEnded(): boolean {
    return this.#ended.size === this.#readers.length;
  }

  snapshot(checkpointId: number): SourceSnapshot {
    return {
      enumerator: this.#enumerator.snapshotState(checkpointId),
      splits: this.#readers.flatMap((reader) => reader.snapshotState(checkpointId)),
    };
  }

  complete(checkpointId: number): void {
    for (const reader of this.#readers) reader.notifyCheckpointComplete?.(checkpointId);
  }

  async close(): Promise<void> {
    for (const reader of this.#readers) await reader.close();
    await this.#enumerator.close();
  }

  #output(count: number, subtask: number): ReaderOutput<string | MalformedRecord> {
    const { values } = this;
    const limit = Math.min(count, values.length + 100);
    return {
      get remaining() {
        return limit - values.length;
      },
      collect: (value) =>
        void values.push(value instanceof MalformedRecord ? `malformed ${value.offset}` : value),
      splitFinished: (splitId) => void this.told.push(`${subtask}: ${splitId} finished`),
      hasNoSplit: () => {
        const text = `${subtask}: no split`;
        if (!this.told.includes(text)) this.told.push(text);
      },
    };
  }
}

/** Appends one batch of values, without a transaction. */
export function append({ broker }: World, partition: number, ...values: readonly string[]): void {
  const builder = new BatchBuilder();
  for (const value of values)
    builder.append({ key: null, value: Buffer.from(value), headers: [], timestamp: 5000 });
  broker.log('out', partition).append(builder.finish(NO_IDENTITY, 'none'));
}
