/**
 * Encoder and decoder for batches of one shape: generated functions for the columns, and around
 * them what stands behind the block of columns (`column-plan.ts`):
 *
 *     block · for each part: a string column · or a batch of the general codec · or, for elements
 *     of lists, their number u32 and a batch of their shape
 *
 * An encoder first takes the whole batch apart (`collect`), lists within lists too, and only then
 * writes, so that a batch that does not fit has written nothing.
 */
import type { BinaryReader } from '../../base/codec/binary-reader.ts';
import type { BinaryWriter } from '../../base/codec/binary-writer.ts';
import type { BatchCodec } from '../batch-codec.ts';
import { ColumnScratch } from './column-plan.ts';
import type { Extra } from './column-plan.ts';
import { generateDecoder } from './generate-decoder.ts';
import type { GeneratedDecoder } from './generate-decoder.ts';
import { ALL_FIT, generateEncoder } from './generate-encoder.ts';
import type { GeneratedEncoder } from './generate-encoder.ts';
import type { Shape } from './record-shape.ts';
import { StringColumn, readStrings } from './string-column.ts';

/** What stands behind the block, with what writes it. */
type PartEncoder =
  | { readonly type: 'strings'; readonly column: StringColumn }
  | { readonly type: 'any' }
  | { readonly type: 'list'; readonly elements: ColumnEncoder };

/** A value of a batch does not fit; which one is known only outside of lists. */
export type Misfit = { readonly index: number | null };

export class ColumnEncoder {
  readonly #generated: GeneratedEncoder;
  readonly #parts: readonly PartEncoder[];
  readonly #scratch = new ColumnScratch();
  #lists: unknown[][] = [];
  #count = 0;

  constructor(shape: Shape) {
    this.#generated = generateEncoder(shape);
    this.#parts = this.#generated.plan.extras.map(partEncoder);
  }

  /** Takes a batch apart; null when every value fits. Then `write` must follow. */
  collect(values: readonly unknown[]): Misfit | null {
    const { plan, encode } = this.#generated;
    const scratch = this.#scratch;
    scratch.fit(values.length * plan.rowBytes);
    this.#count = values.length;
    this.#lists = this.#parts.map(() => []);
    const stopped = encode(values, scratch, this.#lists);
    if (stopped !== ALL_FIT) return { index: stopped < 0 ? null : stopped };
    for (const [index, part] of this.#parts.entries())
      if (part.type === 'list' && part.elements.collect(this.#lists[index]!) !== null)
        return { index: null };
    return null;
  }

  /** Throws what the general codec throws for a value of any kind. */
  write(output: BinaryWriter, general: BatchCodec): void {
    output.bytes(this.#scratch.u8, 0, this.#count * this.#generated.plan.rowBytes);
    for (const [index, part] of this.#parts.entries()) {
      const list = this.#lists[index]!;
      switch (part.type) {
        case 'strings':
          part.column.write(list as string[], output);
          break;
        case 'any':
          general.encode({ values: list, timestamps: null }, output, 0);
          break;
        case 'list':
          output.u32(list.length);
          part.elements.write(output, general);
          break;
      }
    }
    this.release();
  }

  /** Lets go of the batch. */
  release(): void {
    this.#lists = [];
  }
}

function partEncoder(extra: Extra): PartEncoder {
  switch (extra.type) {
    case 'strings':
      return { type: 'strings', column: new StringColumn() };
    case 'any':
      return { type: 'any' };
    case 'list':
      return { type: 'list', elements: new ColumnEncoder(extra.element) };
  }
}

type PartDecoder = { readonly type: 'strings' | 'any' } | ListDecoder;
interface ListDecoder {
  readonly type: 'list';
  readonly elements: ColumnDecoder;
}

export class ColumnDecoder {
  readonly #generated: GeneratedDecoder;
  readonly #parts: readonly PartDecoder[];
  readonly #scratch = new ColumnScratch();

  constructor(shape: Shape) {
    this.#generated = generateDecoder(shape);
    this.#parts = this.#generated.plan.extras.map((extra): PartDecoder =>
      extra.type === 'list'
        ? { type: 'list', elements: new ColumnDecoder(extra.element) }
        : { type: extra.type },
    );
  }

  read(count: number, input: BinaryReader, general: BatchCodec): unknown[] {
    const { plan, decode } = this.#generated;
    const scratch = this.#scratch;
    // Read before memory is taken for it: the number may come from damaged bytes.
    const block = input.bytes(count * plan.rowBytes);
    scratch.fit(block.length);
    scratch.u8.set(block);
    const extras = this.#parts.map((part) => readPart(part, input, general));
    return decode(count, scratch, extras);
  }
}

function readPart(part: PartDecoder, input: BinaryReader, general: BatchCodec): readonly unknown[] {
  switch (part.type) {
    case 'strings':
      return readStrings(input);
    case 'any':
      return general.decode(input).values;
    case 'list':
      return part.elements.read(input.u32(), input, general);
  }
}
