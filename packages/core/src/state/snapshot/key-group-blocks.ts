/**
 * Gathers encoded entries by key group and hands them on in blocks, so that a snapshot of any size
 * needs a few megabytes. A block stands on its own: version, shapes of the objects in it, entries.
 *
 *     block = u8 version · varint shapes · { varint names · { string } } · { entry }
 *     entry = a value of the value codec behind its length: an array
 */
import { BinaryReader } from '../../base/codec/binary-reader.ts';
import { BinaryWriter } from '../../base/codec/binary-writer.ts';
import type { Shapes, ValueEncoder } from '../../base/codec/value-codec.ts';
import { ValueDecoder } from '../../base/codec/value-codec.ts';
import { SerializationError } from '../../base/errors.ts';
import type { KeyGroupSection, SectionOutput } from '../keyed-state-backend.ts';

const BLOCK_VERSION = 1;
/** All unfinished blocks of a snapshot together, when they are of ordinary number. */
const PENDING_BYTES_MAX = 4 * 1024 * 1024;
const BLOCK_BYTES_MAX = 32 * 1024;
const BLOCK_BYTES_MIN = 512;
/** A writer that an entry of unusual size has made larger is not kept. */
const SPARE_BYTES_MAX = 2 * BLOCK_BYTES_MAX;

interface PendingBlock {
  readonly writer: BinaryWriter;
  count: number;
}

/** Of a key group each, for the next snapshot: fresh memory each time costs more than encoding. */
export type SpareWriters = BinaryWriter[];

export class KeyGroupBlocks {
  readonly sections: KeyGroupSection[] = [];
  /** By key group, from the first on. */
  readonly #pending: (PendingBlock | null)[];
  readonly #firstKeyGroup: number;
  readonly #spare: SpareWriters;
  /** Key groups before this one have been handed on. */
  #flushed = 0;
  readonly #assembled = new BinaryWriter(BLOCK_BYTES_MIN);
  readonly #encoder: ValueEncoder;
  readonly #output: SectionOutput;
  readonly #blockBytes: number;

  constructor(
    encoder: ValueEncoder,
    [first, last]: readonly [number, number],
    output: SectionOutput,
    spare: SpareWriters = [],
  ) {
    this.#encoder = encoder;
    this.#output = output;
    this.#firstKeyGroup = first;
    this.#spare = spare;
    const keyGroupCount = Math.max(1, last - first + 1);
    this.#pending = Array.from({ length: keyGroupCount }, () => null);
    const share = PENDING_BYTES_MAX / keyGroupCount;
    this.#blockBytes = Math.min(BLOCK_BYTES_MAX, Math.max(BLOCK_BYTES_MIN, share));
  }

  /** Encodes an entry; gives the bytes it took. */
  add(keyGroup: number, parts: readonly unknown[]): number {
    const index = keyGroup - this.#firstKeyGroup;
    const block = (this.#pending[index] ??= {
      writer: this.#spare.pop() ?? new BinaryWriter(),
      count: 0,
    });
    const { writer } = block;
    const before = writer.length;
    this.#encoder.writeParts(parts, writer);
    const sizeBytes = writer.length - before;
    block.count++;
    if (writer.length >= this.#blockBytes) this.#flush(keyGroup, block);
    return sizeBytes;
  }

  /** Hands on up to `blocksMax` unfinished blocks; `true` when none is left. */
  flushSome(blocksMax: number): boolean {
    const pending = this.#pending;
    for (let left = blocksMax; this.#flushed < pending.length; this.#flushed++) {
      const block = pending[this.#flushed];
      if (block === null || block === undefined) continue;
      if (left-- === 0) return false;
      if (block.count > 0) this.#flush(this.#firstKeyGroup + this.#flushed, block);
      this.#letGo(this.#flushed, block);
    }
    return true;
  }

  /** Lets go of blocks that were not handed on. */
  release(): void {
    for (const [index, block] of this.#pending.entries())
      if (block !== null) this.#letGo(index, block);
  }

  #letGo(index: number, { writer }: PendingBlock): void {
    this.#pending[index] = null;
    writer.reset();
    if (this.#spare.length < this.#pending.length && writer.capacity <= SPARE_BYTES_MAX)
      this.#spare.push(writer);
  }

  #flush(keyGroup: number, block: PendingBlock): void {
    const writer = this.#assembled;
    writer.reset();
    writer.u8(BLOCK_VERSION);
    writeShapes(this.#encoder.shapes, writer);
    writer.bytes(block.writer.view());
    this.sections.push({ keyGroup, ...this.#output.append(writer.view(), block.count) });
    block.writer.reset();
    block.count = 0;
  }
}

/** Reads blocks; blocks with the same shapes as the one before share a decoder. */
export class BlockReader {
  #shapesText = '';
  #decoder = new ValueDecoder([]);

  /** The entries of a block, which must be exactly `count`. */
  *read(bytes: Uint8Array, count: number): Generator<readonly unknown[], void> {
    const reader = new BinaryReader(bytes);
    const version = reader.u8();
    if (version !== BLOCK_VERSION)
      throw new SerializationError(
        `cannot read a block of state: it has version ${version}, this program knows version ` +
          `${BLOCK_VERSION}; use a version of the program that is as new as the snapshot's`,
      );
    const shapes = readShapes(reader);
    const text = JSON.stringify(shapes);
    if (text !== this.#shapesText) {
      this.#shapesText = text;
      this.#decoder = new ValueDecoder(shapes);
    }
    for (let i = 0; i < count; i++) yield this.#decoder.read(reader) as readonly unknown[];
    if (reader.remaining > 0)
      throw new SerializationError(
        `cannot read a block of state: ${reader.remaining} bytes follow its ${count} entries`,
      );
  }
}

function writeShapes(shapes: Shapes, writer: BinaryWriter): void {
  writer.varint(shapes.length);
  for (const names of shapes) {
    writer.varint(names.length);
    for (const name of names) writer.string(name);
  }
}

function readShapes(reader: BinaryReader): Shapes {
  return Array.from({ length: reader.varint() }, () =>
    Array.from({ length: reader.varint() }, () => reader.string()),
  );
}
