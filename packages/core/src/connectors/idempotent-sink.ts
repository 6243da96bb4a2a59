/**
 * The ready base for an outer system in which writing the same twice is the same as writing it once
 * (a row by its key, a value by its name). Results are written at once, in batches; a checkpoint
 * waits until all before it are there. `IdempotentOutput` says how a batch is written. What this
 * class keeps to:
 *
 * - Batches of a subtask are written one after the other, so the last value of a key is the last.
 * - Within a batch the last value of a key wins, and writes are in the order of their keys: the
 *   same results make the same batch, and two subtasks that lock rows never wait for each other.
 * - A batch whose outcome is unknown is written again in its place, before anything behind it.
 * - Memory is bounded: at `bufferRecords` the sink slows its producers.
 *
 * During a recovery readers may see values go back and run forward again; then they are right, if
 * the operators before the sink emit the same results when records are replayed.
 */
import type { SinkGuaranteeFacts } from '../api/guarantee-facts.ts';
import type { Sink, SinkWriter, SinkWriterContext, WriteMode } from '../api/sink.ts';
import { BatchWriter } from './idempotent/batch-writer.ts';

/** Writes batches into the outer system, in one subtask. */
export interface IdempotentOutput<T, Write> {
  /** Connects; called once, before anything else. */
  open?(): Promise<void>;
  /**
   * What has to be written for a record, or null for nothing. Synchronous; an error that is thrown
   * fails the task.
   */
  prepare(
    value: T,
    context: { readonly timestamp: number; readonly watermark: number },
  ): Write | null;
  /** What makes two writes the same place. Absent: every write is a place of its own. */
  keyOf?(write: Write): string;
  /**
   * Resolves when all writes are durable. May be called again with the same writes after a
   * rejection of kind `transient`; any other ends the job.
   */
  writeBatch(writes: readonly Write[]): Promise<void>;
  close(): Promise<void>;
}

export interface BatchSettings {
  /** Writes of a batch. Default 1000. */
  readonly batchSize?: number;
  /** Longest wait for more records of a batch. Default 5 ms. */
  readonly lingerMs?: number;
  /** Records not yet written at which the sink slows its producers. Default 10 batches. */
  readonly bufferRecords?: number;
  /** How long one batch is tried before the job is restarted. Default 60 s. */
  readonly retryForMs?: number;
}

/** Base class of idempotent sinks: give it a name, and connect its writers to an outer system. */
export abstract class IdempotentSink<T, Write = T>
  implements Sink<T, never, never>, SinkGuaranteeFacts
{
  abstract readonly name: string;
  readonly write: WriteMode = 'idempotent';
  readonly readersDuty?: string;
  /**
   * Whether the last value of a key is right however records of several inputs were interleaved.
   * Default false.
   */
  readonly converges?: boolean;
  readonly batching: BatchSettings = {};

  protected abstract connect(context: SinkWriterContext): IdempotentOutput<T, Write>;

  createWriter(context: SinkWriterContext): SinkWriter<T, never, never> {
    return new BatchWriter(context, this.connect(context), { name: this.name, ...this.batching });
  }
}
