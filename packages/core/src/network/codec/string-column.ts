/**
 * Strings of one column. Written together, in one native call: as one byte a character when all are
 * ASCII, as UTF-16 otherwise, so that every string survives, lone surrogates too. Where values
 * repeat, a dictionary for the batch stands in front and each value is an index into it.
 *
 *     count varint · form u8
 *     plain:      lengths (u8 each, or u32 each) · characters
 *     dictionary: the distinct strings as a plain column · indexes (u8 each, or u32 each)
 *     large:      each string on its own, as UTF-16 behind its length
 *
 * Strings are cut out one by one, never as slices of the whole, since a slice that is kept as a key
 * of state would hold the text of its whole batch.
 */
import { Buffer } from 'node:buffer';
import { assert } from '../../base/assert.ts';
import type { BinaryReader } from '../../base/codec/binary-reader.ts';
import type { BinaryWriter } from '../../base/codec/binary-writer.ts';
import { SerializationError } from '../../base/errors.ts';
import { shortStringReaders } from './short-strings.ts';

/** Bits of the form. */
const WIDE_CHARACTERS = 1;
const WIDE_LENGTHS = 2;
const DICTIONARY = 4;
const LARGE = 8;

/** More characters in a column than this are not joined. */
const JOINED_MAX = 1 << 22;

/** Fewer values are not worth a dictionary. */
const DICTIONARY_COUNT_MIN = 16;
/** Batches without a try after one in which the dictionary did not pay. */
const DICTIONARY_PAUSE = 63;

/** Writes the column of one field, and remembers whether a dictionary pays for it. */
export class StringColumn {
  readonly #dictionary = new Map<string, number>();
  #indexes = new Uint32Array(0);
  #pause = 0;

  write(strings: readonly string[], output: BinaryWriter): void {
    output.varint(strings.length);
    if (this.#findDistinct(strings)) {
      const distinct = [...this.#dictionary.keys()];
      this.#dictionary.clear();
      const wide = distinct.length > 256;
      output.u8(DICTIONARY | (wide ? WIDE_LENGTHS : 0));
      output.varint(distinct.length);
      writePlain(distinct, output);
      writeNumbers(this.#indexes, strings.length, wide, output);
      return;
    }
    this.#dictionary.clear();
    writePlain(strings, output);
  }

  /** True with the dictionary and the indexes filled; false when too few values repeat. */
  #findDistinct(strings: readonly string[]): boolean {
    const count = strings.length;
    if (count < DICTIONARY_COUNT_MIN) return false;
    if (this.#pause > 0) {
      this.#pause--;
      return false;
    }
    if (this.#indexes.length < count) this.#indexes = new Uint32Array(count);
    const indexes = this.#indexes;
    const dictionary = this.#dictionary;
    for (let i = 0; i < count; i++) {
      const text = strings[i]!;
      let index = dictionary.get(text);
      if (index === undefined) {
        index = dictionary.size;
        // Half of a stretch are new: reading them costs more than they save.
        if (index > 32 && index * 2 > i) {
          this.#pause = DICTIONARY_PAUSE;
          return false;
        }
        dictionary.set(text, index);
      }
      indexes[i] = index;
    }
    return dictionary.size * 2 <= count;
  }
}

export function readStrings(input: BinaryReader): string[] {
  const count = input.varint();
  return readBody(count, input);
}

function writePlain(strings: readonly string[], output: BinaryWriter): void {
  let characters = 0;
  let longest = 0;
  for (const { length } of strings) {
    characters += length;
    if (length > longest) longest = length;
  }
  if (characters > JOINED_MAX) return writeLarge(strings, output);
  const joined = strings.join('');
  const isAscii = Buffer.byteLength(joined) === characters;
  const wide = longest > 255;
  output.u8((isAscii ? 0 : WIDE_CHARACTERS) | (wide ? WIDE_LENGTHS : 0));
  writeNumbers(strings, strings.length, wide, output);
  output.text(joined, isAscii ? 'latin1' : 'utf16le');
}

function writeLarge(strings: readonly string[], output: BinaryWriter): void {
  output.u8(LARGE);
  for (const text of strings) {
    const isAscii = Buffer.byteLength(text) === text.length;
    output.u8(isAscii ? 0 : WIDE_CHARACTERS);
    output.u32(text.length);
    output.text(text, isAscii ? 'latin1' : 'utf16le');
  }
}

/** Numbers, or the lengths of strings. */
function writeNumbers(
  values: Uint32Array | readonly string[],
  count: number,
  wide: boolean,
  output: BinaryWriter,
): void {
  const areLengths = !(values instanceof Uint32Array);
  for (let i = 0; i < count; i++) {
    const value = areLengths ? (values[i] as string).length : (values[i] as number);
    if (wide) output.u32(value);
    else output.u8(value);
  }
}

function readBody(count: number, input: BinaryReader): string[] {
  const form = input.u8();
  if ((form & LARGE) !== 0) return readLarge(count, input);
  if ((form & DICTIONARY) !== 0) return readWithDictionary(count, form, input);
  const wide = (form & WIDE_LENGTHS) !== 0;
  const lengths = readNumbers(count, wide, input);
  let characters = 0;
  for (let i = 0; i < count; i++) characters += lengths[i]!;
  const isWide = (form & WIDE_CHARACTERS) !== 0;
  return cut(input.bytes(isWide ? characters * 2 : characters), lengths, count, isWide);
}

function readWithDictionary(count: number, form: number, input: BinaryReader): string[] {
  const distinct = readBody(input.varint(), input);
  const indexes = readNumbers(count, (form & WIDE_LENGTHS) !== 0, input);
  const strings: string[] = [];
  for (let i = 0; i < count; i++) {
    const text = distinct[indexes[i]!];
    if (text === undefined) throw damaged(`string ${i} of ${count} is not in the dictionary`);
    strings.push(text);
  }
  return strings;
}

function readLarge(count: number, input: BinaryReader): string[] {
  const strings: string[] = [];
  for (let i = 0; i < count; i++) {
    const isWide = input.u8() === WIDE_CHARACTERS;
    const length = input.u32();
    const bytes = input.bytes(isWide ? length * 2 : length);
    strings.push(bufferOf(bytes).toString(isWide ? 'utf16le' : 'latin1'));
  }
  return strings;
}

/** Bytes as they stand, or u32s copied to where they can be read. */
function readNumbers(count: number, wide: boolean, input: BinaryReader): Uint8Array | Uint32Array {
  if (!wide) return input.bytes(count);
  const bytes = input.bytes(count * 4);
  const numbers = new Uint32Array(count);
  new Uint8Array(numbers.buffer).set(bytes);
  return numbers;
}

function cut(
  bytes: Uint8Array,
  lengths: Uint8Array | Uint32Array,
  count: number,
  isWide: boolean,
): string[] {
  const strings: string[] = [];
  const buffer = bufferOf(bytes);
  const encoding = isWide ? 'utf16le' : 'latin1';
  const width = isWide ? 2 : 1;
  let at = 0;
  for (let i = 0; i < count; i++) {
    const length = lengths[i]!;
    const end = at + length * width;
    const readShort = isWide ? undefined : shortStringReaders[length];
    const text = readShort?.(bytes, at) ?? buffer.toString(encoding, at, end);
    strings.push(text);
    at = end;
  }
  assert(at === bytes.length, 'the lengths of strings do not add up');
  return strings;
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function damaged(what: string): SerializationError {
  return new SerializationError(`cannot read a column of strings: ${what}; the bytes are damaged`);
}
