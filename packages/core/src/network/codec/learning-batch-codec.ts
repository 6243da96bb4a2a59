/**
 * The codec of record batches: learns the shape of the records of each channel, generates a
 * columnar codec for it (`column-codec.ts`), and leaves to the general codec what has no stable
 * shape. Every batch says how it is to be read, so a reader can begin anywhere and depends on no
 * batch before:
 *
 *     form u8: general · the batch of the general codec
 *     form u8: columns · shape (its key, as UTF-8 behind its length) · count u32 · flags u8
 *                      · [timestamps f64 × count] · columns
 *
 * A batch with a value that does not fit is tried again with a wider shape. Generating costs about
 * a millisecond, so a channel whose shape goes on changing is left to the general codec for longer
 * and longer stretches. Cost: 15–30 ns a record of five fields to write, about as much to read.
 */
import type { BinaryReader } from '../../base/codec/binary-reader.ts';
import type { BinaryWriter } from '../../base/codec/binary-writer.ts';
import { Buffer } from 'node:buffer';
import { SerializationError, messageOf } from '../../base/errors.ts';
import { canCompile } from '../../base/generated-code.ts';
import type { RecordBatch } from '../../base/records.ts';
import type { BatchCodec } from '../batch-codec.ts';
import { GeneralBatchCodec, readTimestamps, writeTimestamps } from '../batch-codec.ts';
import { ColumnDecoder, ColumnEncoder } from './column-codec.ts';
import {
  inferShape,
  isPlain,
  mergeShapes,
  parseShape,
  shapeKey,
  sizeOfShape,
} from './record-shape.ts';
import type { Shape } from './record-shape.ts';

/** Part of the format. */
const FORM_GENERAL = 0;
const FORM_COLUMNS = 1;

/** Smaller batches are not worth the shape that stands in front of them. */
const COLUMNS_COUNT_MIN = 4;
const SAMPLE_MAX = 64;
/** V8 leaves longer code to the interpreter: then the general codec is as quick. */
const SHAPE_SIZE_MAX = 2048;
/** Shapes that a batch may be tried with. */
const TRIES_MAX = 3;
/** Batches after which a channel may generate once more without being left alone. */
const BATCHES_PER_SHAPE = 64;
const SHAPES_FREE = 8;
/** Batches in a row that may misfit; forgotten after so many that fit. */
const MISFITS_MAX = 3;
const FITS_PER_MISFIT = 16;
const PAUSE_MIN = 64;
const PAUSE_MAX = 16_384;
/** Compiled codecs kept by shape. */
const KEPT_MAX = 256;

export class LearningBatchCodec implements BatchCodec {
  readonly #general = new GeneralBatchCodec();
  readonly #channels = new Map<number, ChannelShape>();
  readonly #encoders = new Map<string, LearntShape>();
  readonly #decoders = new Map<string, ColumnDecoder>();

  encode(batch: RecordBatch, output: BinaryWriter, channelId: number): void {
    const start = output.length;
    const learnt = this.#tryToFit(batch.values, channelId);
    if (learnt !== null) {
      try {
        writeColumns(batch, learnt, output, this.#general);
        return;
      } catch (error) {
        if (!(error instanceof SerializationError)) throw error;
        // The general codec names the place within the record.
        learnt.encoder.release();
        output.truncate(start);
      }
    }
    output.u8(FORM_GENERAL);
    this.#general.encode(batch, output);
  }

  decode(input: BinaryReader): RecordBatch {
    const form = input.u8();
    if (form === FORM_GENERAL) return this.#general.decode(input);
    if (form !== FORM_COLUMNS)
      throw new SerializationError(`cannot read a batch: there is no form ${form}`);
    const decoder = this.#decoderFor(input);
    const count = input.u32();
    const timestamps = readTimestamps(count, input);
    return { values: decoder.read(count, input, this.#general), timestamps };
  }

  /** A getter may throw: the general codec names its place. */
  #tryToFit(values: readonly unknown[], channelId: number): LearntShape | null {
    try {
      return this.#fit(values, channelId);
    } catch {
      return null;
    }
  }

  /** The encoder that has taken the batch apart, or null. */
  #fit(values: readonly unknown[], channelId: number): LearntShape | null {
    if (values.length < COLUMNS_COUNT_MIN || !canCompile()) return null;
    let channel = this.#channels.get(channelId);
    if (channel === undefined) {
      channel = new ChannelShape();
      this.#channels.set(channelId, channel);
    }
    if (channel.isPaused()) return null;
    let learnt = channel.learnt ?? this.#learn(channel, inferShape(sampleOf(values)));
    for (let attempt = 0; learnt !== null && attempt < TRIES_MAX; attempt++) {
      const misfit = learnt.encoder.collect(values);
      if (misfit === null) {
        channel.fits(learnt);
        return learnt;
      }
      learnt.encoder.release();
      const isOne = attempt === 0 && misfit.index !== null;
      const seen = inferShape(isOne ? [values[misfit.index]] : values);
      learnt = this.#learn(channel, widened(learnt.shape, seen, values));
    }
    channel.misfits();
    return null;
  }

  #learn(channel: ChannelShape, shape: Shape): LearntShape | null {
    if (shape.kind === 'any' || shape.kind === 'none') return null;
    if (sizeOfShape(shape) > SHAPE_SIZE_MAX) return null;
    const key = shapeKey(shape);
    const known = isPlain(shape) ? this.#encoders.get(key) : undefined;
    if (known !== undefined) return known;
    if (!channel.mayGenerate()) return null;
    const learnt = { shape, key: Buffer.from(key), encoder: new ColumnEncoder(shape) };
    if (isPlain(shape)) keep(this.#encoders, key, learnt);
    return learnt;
  }

  #decoderFor(input: BinaryReader): ColumnDecoder {
    const key = input.string();
    let decoder = this.#decoders.get(key);
    if (decoder === undefined) {
      try {
        decoder = new ColumnDecoder(parseShape(key));
      } catch (error) {
        throw new SerializationError(
          `cannot read a batch: ${messageOf(error)}; the bytes are damaged`,
          { cause: error },
        );
      }
      keep(this.#decoders, key, decoder);
    }
    return decoder;
  }
}

interface LearntShape {
  readonly shape: Shape;
  /** Its key, encoded. */
  readonly key: Uint8Array;
  readonly encoder: ColumnEncoder;
}

/** What is known of the records of one channel. */
class ChannelShape {
  learnt: LearntShape | null = null;
  #generated = 0;
  #batches = 0;
  #fits = 0;
  /** Batches that did not fit, of late. */
  #misfits = 0;
  #pauseLeft = 0;
  #nextPause = PAUSE_MIN;

  /** Asked once a batch. */
  isPaused(): boolean {
    this.#batches++;
    if (this.#pauseLeft === 0) return false;
    this.#pauseLeft--;
    return true;
  }

  mayGenerate(): boolean {
    return ++this.#generated < SHAPES_FREE + this.#batches / BATCHES_PER_SHAPE;
  }

  fits(learnt: LearntShape): void {
    this.learnt = learnt;
    this.#fits++;
    if (this.#fits % FITS_PER_MISFIT === 0) this.#misfits = 0;
    if (this.#fits === PAUSE_MAX) this.#nextPause = PAUSE_MIN;
  }

  /** An odd record now and then costs its batch; if they go on the channel is left alone. */
  misfits(): void {
    if (++this.#misfits <= MISFITS_MAX) return;
    this.learnt = null;
    this.#misfits = 0;
    this.#fits = 0;
    this.#pauseLeft = this.#nextPause;
    this.#nextPause = Math.min(PAUSE_MAX, this.#nextPause * 2);
  }
}

/** A shape for the batch, from the old one if they go together. */
function widened(old: Shape, seen: Shape, values: readonly unknown[]): Shape {
  const merged = mergeShapes(old, seen);
  if (merged.kind !== 'any') return merged;
  return mergeShapes(inferShape(sampleOf(values)), seen);
}

function sampleOf(values: readonly unknown[]): readonly unknown[] {
  if (values.length <= SAMPLE_MAX) return values;
  const step = values.length / SAMPLE_MAX;
  return Array.from({ length: SAMPLE_MAX }, (_, i) => values[Math.floor(i * step)]);
}

function writeColumns(
  { values, timestamps }: RecordBatch,
  { key, encoder }: LearntShape,
  output: BinaryWriter,
  general: BatchCodec,
): void {
  output.u8(FORM_COLUMNS);
  output.varint(key.length);
  output.bytes(key);
  output.u32(values.length);
  writeTimestamps(timestamps, output);
  encoder.write(output, general);
}

/** The oldest goes when there are too many. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  const oldest = map.keys().next();
  if (map.size >= KEPT_MAX && oldest.done !== true) map.delete(oldest.value);
  map.set(key, value);
}
