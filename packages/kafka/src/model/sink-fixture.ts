/** A Kafka sink against the model of a broker, driven as the engine drives it: for tests. */
import type {
  CommitterContext,
  Committer,
  SinkRecovery,
  SinkWriter,
  SinkWriterContext,
  UserMetrics,
} from '@weir/core';
import type { Connect } from '../client/broker-connection.ts';
import { KafkaError } from '../client/kafka-errors.ts';
import { text } from '../formats/serde.ts';
import { kafkaSink } from '../kafka-sink.ts';
import type { KafkaSinkOptions } from '../kafka-sink.ts';
import { RecordCursor } from '../records/record-cursor.ts';
import type { KafkaCommittable } from '../sink/committable.ts';
import type { Attempt } from '../sink/transaction-id.ts';
import { BatchWalker } from '../source/batch-walker.ts';
import { AutoClock } from './auto-clock.ts';
import { ModelBroker } from './model-broker.ts';

export type KafkaWriter = SinkWriter<string, never, KafkaCommittable>;
export type KafkaCommitter = Committer<KafkaCommittable, never>;

export const JOB_ID: string = 'a'.repeat(32);
export const OPERATOR_ID: string = 'b'.repeat(32);

export interface World {
  readonly clock: AutoClock;
  readonly broker: ModelBroker;
  readonly logged: string[];
}

export function newWorld(partitions = 1, maxTransactionTimeoutMs = 900_000): World {
  const clock = new AutoClock();
  const broker = new ModelBroker({ clock, maxTransactionTimeoutMs });
  broker.createTopic('out', partitions);
  return { clock, broker, logged: [] };
}

export function sinkOf(
  { broker }: World,
  options: Partial<KafkaSinkOptions<string>> = {},
  connect: Connect = broker.connect,
): ReturnType<typeof kafkaSink<string>> {
  const base = { bootstrap: 'model:9092', topic: 'out', value: text() };
  return kafkaSink<string>({ ...base, ...options }, connect);
}

/** A process that can be killed: from then on none of its requests reaches the broker. */
export class ModelProcess {
  isDead = false;
  readonly #connect: Connect;

  constructor({ broker }: World) {
    this.#connect = broker.connect;
  }

  readonly connect: Connect = async (host, port) => {
    const connection = await this.#connect(host, port);
    return {
      isOpen: true,
      call: (api, request) =>
        this.isDead
          ? Promise.reject(new KafkaError('the process is dead', { isTransient: false }))
          : connection.call(api, request),
      close: () => connection.close(),
    };
  };
}

export function environmentOf(world: World): CommitterContext {
  return {
    clock: world.clock,
    random: {} as CommitterContext['random'],
    fileSystem: {} as CommitterContext['fileSystem'],
    logger: { log: (_level: string, message: string) => void world.logged.push(message) },
    jobId: JOB_ID as CommitterContext['jobId'],
    operatorId: OPERATOR_ID as CommitterContext['operatorId'],
  };
}

export const NO_METRICS: UserMetrics = { counter: () => ({ add: () => undefined }) };

export async function openWriter(
  world: World,
  sink: ReturnType<typeof sinkOf>,
  options: { readonly attempt?: Attempt; readonly subtask?: number } = {},
): Promise<KafkaWriter> {
  const context: SinkWriterContext = {
    ...environmentOf(world),
    subtask: options.subtask ?? 0,
    parallelism: 1,
    attempt: options.attempt ?? { epoch: 1, counter: 0 },
    checkpointing: true,
    metrics: NO_METRICS,
    scheduleHousekeeping: () => undefined,
  };
  const writer = sink.createWriter(context, []);
  await writer.open?.();
  return writer;
}

export function committerOf(world: World, sink: ReturnType<typeof sinkOf>): KafkaCommitter {
  const committer = sink.createCommitter?.(environmentOf(world));
  if (committer === undefined) throw new Error('the sink has no committer');
  return committer;
}

const ELEMENT = { timestamp: Number.NaN, watermark: -Infinity };

/** Writes values, waiting where the writer asks for it. */
export async function write(writer: KafkaWriter, ...values: readonly string[]): Promise<void> {
  for (const value of values) {
    if (!writer.isWritable) await writer.whenWritable();
    writer.write(value, ELEMENT);
  }
}

/** A barrier: resolves when everything before it is durable. */
export async function barrier(
  writer: KafkaWriter,
  checkpointId: number,
  endOfInput = false,
): Promise<readonly KafkaCommittable[]> {
  const prepared = writer.prepareCommit({ checkpointId, endOfInput });
  await prepared.durable;
  return prepared.committables;
}

export function recoveryOf(
  committables: readonly KafkaCommittable[],
  attempt: Attempt = { epoch: 2, counter: 0 },
  subtasks: readonly number[] | 'all' = 'all',
): SinkRecovery<KafkaCommittable, never> {
  return { committables, writerStates: [], attempt, subtasks, allowOlder: false };
}

/** What a reader at read_committed sees in all partitions of a topic. */
export function visible(
  { broker }: Pick<World, 'broker'>,
  topic = 'out',
  partitions = 1,
): string[] {
  const values: string[] = [];
  for (let partition = 0; partition < partitions; partition++) {
    const log = broker.log(topic, partition);
    const piece = log.read(log.startOffset, { readCommitted: true, maxBytes: Infinity });
    const cursor = new RecordCursor();
    const walker = new BatchWalker({ place: topic, ...piece }, true);
    while (walker.next(cursor, 0)) while (cursor.next()) values.push(cursor.valueText() ?? '');
  }
  return values;
}

/** Ids of open transactions. */
export function openIds({ broker }: Pick<World, 'broker'>): string[] {
  return broker.coordinator.list(['Ongoing']).map((it) => it.transactionalId);
}
