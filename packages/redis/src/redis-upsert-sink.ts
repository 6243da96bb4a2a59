/**
 * `redisUpsertSink`: the options of the sink that writes values by their key. Called by users while
 * they build the graph; opens no connection.
 */
import { ConfigurationError, IdempotentSink } from '@weir/core';
import type {
  BatchSettings,
  ConnectorEnvironment,
  IdempotentOutput,
  Sink,
  SinkOuterFacts,
  SinkWriterContext,
} from '@weir/core';
import { writerName } from './client-name.ts';
import type { Connect } from './client/session.ts';
import type { RedisValue } from './commands/redis-command.ts';
import { checkWhole, serverOf } from './connection-options.ts';
import type { RedisConnectionOptions, ServerFactory } from './connection-options.ts';
import { askAboutServer } from './server-settings.ts';
import { UpsertOutput } from './upsert/upsert-output.ts';
import { WriteEncoder } from './upsert/upsert-write.ts';
import type { HashFields, UpsertWrite } from './upsert/upsert-write.ts';

export interface RedisUpsertSinkOptions<T> extends RedisConnectionOptions {
  /** `total:berlin` */
  readonly key: (value: T) => string;
  /** What the key holds; `null` or `undefined`: the key is removed. Either this or `fields`. */
  readonly value?: (value: T) => RedisValue | null | undefined;
  /** What fields of a hash hold. Fields that are not named keep what they hold. */
  readonly fields?: HashFields<T>;
  /** After so long without a new value Redis removes the key. Absent: never. */
  readonly expireAfterMs?: number;
  /**
   * Whether the last value of a key is right however records of several inputs were interleaved, as
   * with a running maximum. Default false; it decides what the sink guarantees behind operators
   * with several inputs.
   */
  readonly converges?: boolean;
  /** Keys of one pipeline. Default 1000. */
  readonly batchSize?: number;
  /** Longest wait for more keys of a pipeline. Default 5 ms. */
  readonly lingerMs?: number;
  /** Keys not yet written at which the sink slows its producers. Default 10 batches. */
  readonly bufferRecords?: number;
}

/**
 * Writes values by their key, at once: the last record of a key is what Redis holds. After a
 * failure values may go back and run forward again; then they are right, if the operators before
 * the sink emit the same when records are replayed.
 *
 * Fails for good with `SINK_REFUSED` when a key holds another type, a right is missing, or the
 * server may remove keys; within the restart strategy with `SINK_UNAVAILABLE` when it is away or
 * full.
 * Fails with `RECORD_MALFORMED` at a value that Redis does not take.
 * @throws ConfigurationError when an option is not allowed.
 */
export function redisUpsertSink<T>(
  options: RedisUpsertSinkOptions<T>,
  connect?: Connect,
): Sink<T, never, never> {
  return new RedisUpsertSink(options, connect);
}

class RedisUpsertSink<T> extends IdempotentSink<T, UpsertWrite> {
  readonly name: string = 'redis by key';
  override readonly converges: boolean;
  override readonly batching: BatchSettings;
  readonly #factory: ServerFactory;
  readonly #encoder: WriteEncoder<T>;

  constructor(options: RedisUpsertSinkOptions<T>, connect: Connect | undefined) {
    super();
    const { key, expireAfterMs, batchSize, lingerMs, bufferRecords, retryForMs } = options;
    checkWhole('redisUpsertSink expireAfterMs', expireAfterMs, 1);
    checkWhole('redisUpsertSink batchSize', batchSize, 1);
    checkWhole('redisUpsertSink lingerMs', lingerMs, 0);
    checkWhole('redisUpsertSink bufferRecords', bufferRecords, 1);
    this.converges = options.converges ?? false;
    this.batching = {
      ...(batchSize === undefined ? {} : { batchSize }),
      ...(lingerMs === undefined ? {} : { lingerMs }),
      ...(bufferRecords === undefined ? {} : { bufferRecords }),
      ...(retryForMs === undefined ? {} : { retryForMs }),
    };
    this.#factory = serverOf('redisUpsertSink', options, connect);
    this.#encoder = new WriteEncoder(key, contentsOf(options), expireAfterMs ?? null);
  }

  askOuterSystem(environment: ConnectorEnvironment): Promise<SinkOuterFacts> {
    return askAboutServer(this.#factory, environment);
  }

  protected override connect(context: SinkWriterContext): IdempotentOutput<T, UpsertWrite> {
    const server = this.#factory.open(context, writerName(context));
    const { allowEviction } = this.#factory;
    return new UpsertOutput(context, server, { encoder: this.#encoder, allowEviction });
  }
}

function contentsOf<T>({
  value,
  fields,
}: RedisUpsertSinkOptions<T>): ConstructorParameters<typeof WriteEncoder<T>>[1] {
  if (value !== undefined && fields === undefined) return { value };
  if (value === undefined && fields !== undefined && Object.keys(fields).length > 0)
    return { fields };
  throw new ConfigurationError('redisUpsertSink: give either value or at least one of fields');
}
