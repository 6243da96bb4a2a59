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

interface PendingBlock {
  readonly writer: BinaryWriter;
  count: number;
}

export class KeyGroupBlocks {
  readonly sections: KeyGroupSection[] = [];
  readonly #pending = new Map<number, PendingBlock>();
  readonly #assembled = new BinaryWriter(BLOCK_BYTES_MIN);
  readonly #encoder: ValueEncoder;
  readonly #output: SectionOutput;
  readonly #blockBytes: number;

  constructor(encoder: ValueEncoder, keyGroupCount: number, output: SectionOutput) {
    this.#encoder = encoder;
    this.#output = output;
    const share = PENDING_BYTES_MAX / Math.max(1, keyGroupCount);
    this.#blockBytes = Math.min(BLOCK_BYTES_MAX, Math.max(BLOCK_BYTES_MIN, share));
  }

  /** Encodes an entry; gives the bytes it took. */
  add(keyGroup: number, parts: readonly unknown[]): number {
    let block = this.#pending.get(keyGroup);
    if (block === undefined) {
      block = { writer: new BinaryWriter(), count: 0 };
      this.#pending.set(keyGroup, block);
    }
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
    let left = blocksMax;
    for (const [keyGroup, block] of this.#pending) {
      if (left-- === 0) return false;
      if (block.count > 0) this.#flush(keyGroup, block);
      this.#pending.delete(keyGroup);
    }
    return true;
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
