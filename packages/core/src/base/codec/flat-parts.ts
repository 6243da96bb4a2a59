/**
 * An array of primitives in MessagePack, byte by byte as msgpackr writes it, but straight into the
 * output, and back: most keyed state is a key and a few numbers or texts, and going through
 * msgpackr would cost a multiple. Called by `ValueEncoder` and `ValueDecoder`; 0.1 µs for an entry
 * of 100 bytes.
 */
import type { BinaryReader } from './binary-reader.ts';
import type { BinaryWriter } from './binary-writer.ts';

/** What an array of as many elements begins with, in one byte. */
const FIX_ARRAY = 0x90;
const FIX_ARRAY_MAX = 15;
const NIL = 0xc0;
const FALSE = 0xc2;
const TRUE = 0xc3;
const FLOAT64 = 0xcb;
const UINT8 = 0xcc;
const UINT16 = 0xcd;
const UINT32 = 0xce;
const INT8 = 0xd0;
const INT16 = 0xd1;
const INT32 = 0xd2;
const FIX_STRING = 0xa0;
const STRING8 = 0xd9;
const STRING16 = 0xda;
const STRING32 = 0xdb;
/** Numbers from here to 127 are those of shapes. */
const FIX_INT_END = 0x40;

/**
 * Writes the parts behind the length of what follows and `form`; `false`: they need another form
 * than this one, and nothing was written.
 */
export function writeFlat(form: number, parts: readonly unknown[], output: BinaryWriter): boolean {
  const { length } = parts;
  if (length > FIX_ARRAY_MAX) return false;
  const start = output.beginSized();
  output.u8(form);
  output.u8(FIX_ARRAY | length);
  for (let i = 0; i < length; i++) {
    if (writePart(parts[i], output)) continue;
    output.truncate(start);
    return false;
  }
  output.endSized(start);
  return true;
}

/**
 * The next so many bytes if they are such an array, else null: whatever else there is, or damage.
 * How far it has read is then of no meaning.
 */
export function readFlat(input: BinaryReader, sizeBytes: number): unknown[] | null {
  const end = input.position + sizeBytes;
  if (sizeBytes < 1 || sizeBytes > input.remaining) return null;
  const head = input.u8();
  if ((head & 0xf0) !== FIX_ARRAY) return null;
  const parts: unknown[] = [];
  for (let left = head & FIX_ARRAY_MAX; left > 0; left--) {
    if (input.position >= end) return null;
    const part = readPart(input, end);
    if (part === undefined) return null;
    parts.push(part);
  }
  return input.position === end ? parts : null;
}

function readPart(input: BinaryReader, end: number): number | string | boolean | null | undefined {
  const tag = input.u8();
  if (tag < FIX_INT_END) return tag;
  if (tag >= 0xe0) return tag - 0x100;
  if (tag >= FIX_STRING && tag < NIL) return readString(input, tag - FIX_STRING, end);
  const room = end - input.position;
  switch (tag) {
    case NIL:
      return null;
    case FALSE:
      return false;
    case TRUE:
      return true;
    case UINT8:
    case INT8:
      if (room < 1) return undefined;
      return tag === UINT8 ? input.int(1) & 0xff : input.int(1);
    case UINT16:
    case INT16:
      if (room < 2) return undefined;
      return tag === UINT16 ? input.int(2) & 0xffff : input.int(2);
    case UINT32:
    case INT32:
      if (room < 4) return undefined;
      return tag === UINT32 ? input.int(4) >>> 0 : input.int(4);
    case FLOAT64:
      return room < 8 ? undefined : input.f64BigEndian();
    case STRING8:
      return room < 1 ? undefined : readString(input, input.int(1) & 0xff, end);
    case STRING16:
      return room < 2 ? undefined : readString(input, input.int(2) & 0xffff, end);
    case STRING32:
      return room < 4 ? undefined : readString(input, input.int(4) >>> 0, end);
    default:
      return undefined;
  }
}

function readString(input: BinaryReader, sizeBytes: number, end: number): string | undefined {
  return sizeBytes > end - input.position ? undefined : input.utf8(sizeBytes);
}

function writePart(part: unknown, output: BinaryWriter): boolean {
  if (typeof part === 'string') return writeString(part, output);
  if (typeof part === 'number') {
    if (part === 0 && Object.is(part, -0)) return false;
    writeNumber(part, output);
  } else if (typeof part === 'boolean') output.u8(part ? TRUE : FALSE);
  else if (part === null) output.u8(NIL);
  else return false;
  return true;
}

function writeNumber(value: number, output: BinaryWriter): void {
  if (value >>> 0 === value) {
    if (value < FIX_INT_END) output.u8(value);
    else if (value < 0x100) output.tagged(UINT8, value, 1);
    else if (value < 0x10000) output.tagged(UINT16, value, 2);
    else output.tagged(UINT32, value, 4);
  } else if (value >> 0 === value) {
    if (value >= -0x20) output.u8(value);
    else if (value >= -0x80) output.tagged(INT8, value, 1);
    else if (value >= -0x8000) output.tagged(INT16, value, 2);
    else output.tagged(INT32, value, 4);
  } else {
    output.u8(FLOAT64);
    output.f64BigEndian(value);
  }
}

/** Almost all text is ASCII: then its length is known before it is encoded. */
function writeString(value: string, output: BinaryWriter): boolean {
  const start = output.length;
  writeStringHead(value.length, output);
  const sizeBytes = output.utf8(value);
  if (sizeBytes === value.length) return true;
  if (!value.isWellFormed()) return false;
  output.truncate(start);
  writeStringHead(sizeBytes, output);
  output.utf8(value);
  return true;
}

function writeStringHead(sizeBytes: number, output: BinaryWriter): void {
  if (sizeBytes < 32) output.u8(FIX_STRING | sizeBytes);
  else if (sizeBytes < 0x100) output.tagged(STRING8, sizeBytes, 1);
  else if (sizeBytes < 0x10000) output.tagged(STRING16, sizeBytes, 2);
  else output.tagged(STRING32, sizeBytes, 4);
}
