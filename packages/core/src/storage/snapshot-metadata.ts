/**
 * The bytes of `_metadata`:
 *
 *     "WEIRSNAP" | version: u8 | json length: u32 | binary length: u32 | json | binary | crc: u32
 *
 * Numbers are big-endian; the CRC-32 covers everything before it. Byte arrays stand in the binary
 * part and the JSON names their place, so that inline state costs nothing extra and the rest can be
 * read with any tool. Numbers that JSON lacks are tagged objects.
 */
import { checksumText, crc32 } from '../base/codec/crc32.ts';
import { StateCorruptionError, StateMigrationError } from '../base/errors.ts';
import type { SnapshotMetadata } from '../protocol/snapshot.ts';

const MAGIC = 'WEIRSNAP';
const FORMAT_VERSION = 1;
const HEADER_BYTES = MAGIC.length + 1 + 4 + 4;
const CHECKSUM_BYTES = 4;
/** `$`, with which the only key of an object begins that stands for something else. */
const TAG_MARK = 0x24;

export function encodeSnapshotMetadata(metadata: SnapshotMetadata): Uint8Array {
  const parts: Uint8Array[] = [];
  const json = Buffer.from(JSON.stringify(toJson(metadata, { parts, sizeBytes: 0 })));
  const binary = Buffer.concat(parts);
  const bytes = Buffer.alloc(HEADER_BYTES + json.length + binary.length + CHECKSUM_BYTES);
  bytes.write(MAGIC, 0, 'latin1');
  bytes.writeUInt8(FORMAT_VERSION, MAGIC.length);
  bytes.writeUInt32BE(json.length, MAGIC.length + 1);
  bytes.writeUInt32BE(binary.length, MAGIC.length + 5);
  bytes.set(json, HEADER_BYTES);
  bytes.set(binary, HEADER_BYTES + json.length);
  const end = bytes.length - CHECKSUM_BYTES;
  bytes.writeUInt32BE(crc32(bytes.subarray(0, end)), end);
  return bytes;
}

/** `path` names the file in errors: STATE_CORRUPT when damaged, STATE_INCOMPATIBLE when too new. */
export function decodeSnapshotMetadata(bytes: Uint8Array, path: string): SnapshotMetadata {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.length < HEADER_BYTES + CHECKSUM_BYTES || !hasMagic(buffer)) {
    throw damaged(path, 'it does not begin as a snapshot does', {});
  }
  const version = buffer.readUInt8(MAGIC.length);
  if (version !== FORMAT_VERSION) throw unknownVersion(path, version, buffer);

  const jsonBytes = buffer.readUInt32BE(MAGIC.length + 1);
  const binaryBytes = buffer.readUInt32BE(MAGIC.length + 5);
  const expectedSize = HEADER_BYTES + jsonBytes + binaryBytes + CHECKSUM_BYTES;
  if (buffer.length !== expectedSize) {
    throw damaged(path, `it should have ${expectedSize} bytes, but has ${buffer.length}`, {
      expectedSizeBytes: expectedSize,
      foundSizeBytes: buffer.length,
    });
  }
  verifyChecksum(buffer, path);
  const json = buffer.toString('utf8', HEADER_BYTES, HEADER_BYTES + jsonBytes);
  const binary = buffer.subarray(HEADER_BYTES + jsonBytes, buffer.length - CHECKSUM_BYTES);
  // The checksum matched, so this is what `encodeSnapshotMetadata` of this version wrote.
  return fromJson(JSON.parse(json), binary) as SnapshotMetadata;
}

function hasMagic(buffer: Buffer): boolean {
  return buffer.toString('latin1', 0, MAGIC.length) === MAGIC;
}

function verifyChecksum(buffer: Buffer, path: string): void {
  const expected = buffer.readUInt32BE(buffer.length - CHECKSUM_BYTES);
  const found = crc32(buffer.subarray(0, buffer.length - CHECKSUM_BYTES));
  if (expected === found) return;
  const expectedChecksum = checksumText(expected);
  const foundChecksum = checksumText(found);
  throw damaged(path, `expected checksum ${expectedChecksum}, found ${foundChecksum}`, {
    expectedChecksum,
    foundChecksum,
  });
}

/** The version byte may itself be what is damaged; only with a valid checksum it is a version. */
function unknownVersion(path: string, version: number, buffer: Buffer): Error {
  const end = buffer.length - CHECKSUM_BYTES;
  if (crc32(buffer.subarray(0, end)) !== buffer.readUInt32BE(end))
    return damaged(path, `its format version ${version} is unknown and its checksum wrong`, {});
  return new StateMigrationError(
    `the snapshot ${path} has format version ${version}, but this version of Weir reads ` +
      `${FORMAT_VERSION}; use the version of Weir that wrote it, or a newer one`,
    { details: { path, formatVersion: version } },
  );
}

function damaged(path: string, what: string, details: Readonly<Record<string, unknown>>): Error {
  return new StateCorruptionError(
    `the snapshot file ${path} is damaged: ${what}; restore the file from a copy, or start from ` +
      'another snapshot',
    { details: { path, ...details } },
  );
}

interface BinaryPart {
  readonly parts: Uint8Array[];
  sizeBytes: number;
}

function toJson(value: unknown, binary: BinaryPart): unknown {
  if (typeof value === 'bigint') return { $bigint: value.toString() };
  if (typeof value === 'number') return toJsonNumber(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) {
    const offset = binary.sizeBytes;
    binary.parts.push(value);
    binary.sizeBytes += value.byteLength;
    return { $bytes: [offset, value.byteLength] };
  }
  return toJsonParts(value, binary);
}

/** Copied only where something within is written in another way. */
function toJsonParts(value: object, binary: BinaryPart): unknown {
  if (Array.isArray(value)) return toJsonItems(value, binary);
  const parts = value as Record<string, unknown>;
  let copy: Record<string, unknown> | null = null;
  for (const key in parts) {
    const part = parts[key];
    if (typeof part === 'string') continue;
    const json = toJson(part, binary);
    if (json === part) continue;
    copy ??= { ...parts };
    copy[key] = json;
  }
  return copy ?? parts;
}

function toJsonItems(items: readonly unknown[], binary: BinaryPart): unknown {
  let copy: unknown[] | null = null;
  for (let index = 0; index < items.length; index++) {
    const json = toJson(items[index], binary);
    if (json === items[index]) continue;
    copy ??= [...items];
    copy[index] = json;
  }
  return copy ?? items;
}

function toJsonNumber(value: number): unknown {
  if (Object.is(value, -0)) return { $number: '-0' };
  return Number.isFinite(value) ? value : { $number: String(value) };
}

/** In place, since it was just parsed. */
function fromJson(value: unknown, binary: Uint8Array): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const item: unknown = value[index];
      if (typeof item !== 'object' || item === null) continue;
      const read = fromJson(item, binary);
      if (read !== item) value[index] = read;
    }
    return value;
  }
  const parts = value as Record<string, unknown>;
  for (const key in parts) {
    const part = parts[key];
    if (key.charCodeAt(0) === TAG_MARK) {
      const tagged = fromTagged(key, part, binary);
      if (tagged !== null) return tagged;
    }
    if (typeof part !== 'object' || part === null) continue;
    const read = fromJson(part, binary);
    if (read !== part) parts[key] = read;
  }
  return parts;
}

/** What JSON lacks, by the only key of the object that stands for it; `null`: a name of a part. */
function fromTagged(tag: string, value: unknown, binary: Uint8Array): unknown {
  switch (tag) {
    case '$bigint':
      return BigInt(String(value));
    case '$number':
      return Number(value);
    case '$bytes': {
      const [offset, sizeBytes] = value as [number, number];
      // A copy: the handle may outlive the rest of a large file.
      return new Uint8Array(binary.subarray(offset, offset + sizeBytes));
    }
    default:
      return null;
  }
}
