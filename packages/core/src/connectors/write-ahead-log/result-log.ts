/**
 * Results of a checkpoint interval as bytes. They are encoded when they are written, so that a
 * value that is changed afterwards does not change in the log, and they are part of a snapshot, so
 * that they are read back without the code of the job. They lie in pieces of a size that a snapshot
 * copies within the caches of a processor: as one, an interval of megabytes takes several times as
 * long, each time it is copied.
 */
import type { SinkWriterContext } from '../../api/sink.ts';
import { BinaryReader } from '../../base/codec/binary-reader.ts';
import { BinaryWriter } from '../../base/codec/binary-writer.ts';
import { ValueDecoder, ValueEncoder } from '../../base/codec/value-codec.ts';
import type { Shapes } from '../../base/codec/value-codec.ts';
import { StateCorruptionError, WeirError } from '../../base/errors.ts';
import { attemptName } from '../../base/ids.ts';
import type { LoggedBatch } from './checkpoint-committer.ts';
import { batchName } from './checkpoint-committer.ts';

/** A piece of what a checkpoint keeps of one subtask of a write-ahead-log sink. */
export interface LoggedResults {
  readonly batch: LoggedBatch;
  readonly records: number;
  /** In all pieces of the batch. */
  readonly batchRecords: number;
  readonly shapes: Shapes;
  readonly bytes: Uint8Array;
}

const PIECE_BYTES = 256 * 1024;
/** Stands where the form of another value stands (base/codec/value-codec.ts). */
const FORM_BYTES = 0;

type Piece = Pick<LoggedResults, 'records' | 'bytes'>;

export class ResultLog<T> {
  readonly #identity: Omit<LoggedBatch, 'checkpointId'>;
  readonly #bytesMax: number;
  readonly #output = new BinaryWriter();
  readonly #encoder = new ValueEncoder();
  /** Those before the one that is being written. */
  #pieces: Piece[] = [];
  #piecesBytes = 0;
  #pieceRecords = 0;
  #records = 0;

  constructor(context: SinkWriterContext, bytesMax: number) {
    const { jobId, operatorId, subtask, attempt, random } = context;
    const writer = `${subtask}-${attemptName(attempt)}-${random.hex(16)}`;
    this.#identity = { jobId, operatorId, subtask, attempt, writer };
    this.#bytesMax = bytesMax;
  }

  append(value: T, sinkName: string): void {
    if (isPlainBytes(value)) {
      this.#output.varint(value.length + 1);
      this.#output.u8(FORM_BYTES);
      this.#output.bytes(value);
    } else this.#encoder.write(value, this.#output);
    this.#pieceRecords++;
    this.#records++;
    const sizeBytes = this.#piecesBytes + this.#output.length;
    if (sizeBytes > this.#bytesMax) throw this.#tooMuch(sinkName);
    if (this.#output.length >= PIECE_BYTES) this.#endPiece();
  }

  /** What was appended since the last call, in its order. */
  take(checkpointId: number): readonly LoggedResults[] {
    if (this.#pieceRecords > 0) this.#endPiece();
    const batch = { ...this.#identity, checkpointId };
    const { shapes } = this.#encoder;
    const batchRecords = this.#records;
    const taken = this.#pieces.map((piece) => ({ batch, batchRecords, shapes, ...piece }));
    this.#pieces = [];
    this.#piecesBytes = 0;
    this.#records = 0;
    return taken;
  }

  #endPiece(): void {
    this.#pieces.push({ records: this.#pieceRecords, bytes: this.#output.copy() });
    this.#piecesBytes += this.#output.length;
    this.#output.reset();
    this.#pieceRecords = 0;
  }

  #tooMuch(sinkName: string): WeirError {
    return new WeirError(
      'user',
      `${sinkName} holds ${this.#records} results of one checkpoint interval, more than ` +
        `${this.#bytesMax} bytes; checkpoint more often, raise the parallelism, or raise ` +
        'logBytesMax',
      { code: 'SINK_UNAVAILABLE', details: { records: this.#records, bytesMax: this.#bytesMax } },
    );
  }
}

/**
 * All results of a batch, of which `pieces` are all.
 * @throws StateCorruptionError when they are not.
 */
export function readLog<T>(pieces: readonly LoggedResults[]): readonly T[] {
  const values: T[] = [];
  for (const { records, shapes, bytes } of pieces) {
    const decoder = new ValueDecoder(shapes);
    const input = new BinaryReader(bytes);
    // The bytes are those of the same sink, so the type is that of its records.
    for (let i = 0; i < records; i++) values.push(readValue(decoder, input) as T);
  }
  const [first] = pieces;
  if (first === undefined || values.length === first.batchRecords) return values;
  throw new StateCorruptionError(
    `of the batch ${batchName(first.batch)} of a write-ahead log, which has ` +
      `${first.batchRecords} results, ${values.length} are there; start from another checkpoint`,
    { details: { batch: batchName(first.batch), records: values.length } },
  );
}

function readValue(decoder: ValueDecoder, input: BinaryReader): unknown {
  const start = input.position;
  const sizeBytes = input.varint();
  if (input.u8() === FORM_BYTES) return input.bytes(sizeBytes - 1);
  input.rewind(start);
  return decoder.read(input);
}

/** Subclasses, such as Buffer, are what they are only by the codec. */
function isPlainBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array && value.constructor === Uint8Array;
}
