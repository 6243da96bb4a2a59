/**
 * Results of a checkpoint interval as bytes. They are encoded when they are written, so that a
 * value that is changed afterwards does not change in the log, and they are part of a snapshot, so
 * that they are read back without the code of the job.
 */
import type { SinkWriterContext } from '../../api/sink.ts';
import { BinaryReader } from '../../base/codec/binary-reader.ts';
import { BinaryWriter } from '../../base/codec/binary-writer.ts';
import { ValueDecoder, ValueEncoder } from '../../base/codec/value-codec.ts';
import type { Shapes } from '../../base/codec/value-codec.ts';
import { WeirError } from '../../base/errors.ts';
import { attemptName } from '../../base/ids.ts';
import type { LoggedBatch } from './checkpoint-committer.ts';

/** What a checkpoint keeps of one subtask of a write-ahead-log sink. */
export interface LoggedResults {
  readonly batch: LoggedBatch;
  readonly records: number;
  readonly shapes: Shapes;
  readonly bytes: Uint8Array;
}

export class ResultLog<T> {
  readonly #identity: Omit<LoggedBatch, 'checkpointId'>;
  readonly #bytesMax: number;
  readonly #output = new BinaryWriter();
  readonly #encoder = new ValueEncoder();
  #records = 0;

  constructor(context: SinkWriterContext, bytesMax: number) {
    const { jobId, operatorId, subtask, attempt, random } = context;
    const writer = `${subtask}-${attemptName(attempt)}-${random.hex(16)}`;
    this.#identity = { jobId, operatorId, subtask, attempt, writer };
    this.#bytesMax = bytesMax;
  }

  append(value: T, sinkName: string): void {
    this.#encoder.write(value, this.#output);
    this.#records++;
    if (this.#output.length <= this.#bytesMax) return;
    throw new WeirError(
      'user',
      `${sinkName} holds ${this.#records} results of one checkpoint interval, more than ` +
        `${this.#bytesMax} bytes; checkpoint more often, raise the parallelism, or raise ` +
        'logBytesMax',
      { code: 'SINK_UNAVAILABLE', details: { records: this.#records, bytesMax: this.#bytesMax } },
    );
  }

  /** What was appended since the last call; `null`: nothing. */
  take(checkpointId: number): LoggedResults | null {
    if (this.#records === 0) return null;
    const results = {
      batch: { ...this.#identity, checkpointId },
      records: this.#records,
      shapes: this.#encoder.shapes,
      bytes: this.#output.copy(),
    };
    this.#output.reset();
    this.#records = 0;
    return results;
  }
}

export function readLog<T>({ records, shapes, bytes }: LoggedResults): readonly T[] {
  const decoder = new ValueDecoder(shapes);
  const input = new BinaryReader(bytes);
  // The bytes are those of the same sink, so the type is that of its records.
  return Array.from({ length: records }, () => decoder.read(input) as T);
}
