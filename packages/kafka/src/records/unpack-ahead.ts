/**
 * Decompresses large batches of a fetched piece before a task meets them, on threads of libuv: a
 * batch of 1 MiB takes gzip 3 ms, but one of 130 KB may hold 64 MiB and take 150. Small ones are
 * decompressed where they are read, since a thread's round trip costs more. Snappy and LZ4 have no
 * such threads; a batch of 1 MiB takes them 3 ms, 64 MiB 60 to 80.
 */
import { gunzip, zstdDecompress } from 'node:zlib';
import { compressionOf } from './compression.ts';
import * as head from './record-header.ts';

/** Decompressed batches by where they begin in their piece. */
export type Unpacked = ReadonlyMap<number, Buffer>;

const NOTHING: Unpacked = new Map();

/** Decompressed, so much takes about 2 ms. */
const LARGE_BYTES = 1024 ** 2;
/** A batch of zstd does not tell what it holds. */
const LARGE_ZSTD_BYTES = 16 * 1024;

/**
 * `isWanted`: whether the records of the batch that begins there will be read. A batch that cannot
 * be decompressed is left out: whoever reads it finds its checksum wrong, and says where it is.
 */
export async function unpackAhead(
  records: Buffer,
  isWanted: (batch: Buffer) => boolean,
): Promise<Unpacked> {
  const unpacked = new Map<number, Buffer>();
  const working: Promise<void>[] = [];
  for (let start = 0; ;) {
    const end = head.endOfBatch(records, start);
    if (end === null) break;
    const at = start;
    start = end;
    const batch = records.subarray(at, end);
    const unpack = unpackerOf(batch);
    if (unpack === null || !isWanted(batch)) continue;
    const body = batch.subarray(head.HEADER_BYTES);
    working.push(
      unpack(body).then(
        (bytes) => void unpacked.set(at, bytes),
        () => undefined,
      ),
    );
  }
  if (working.length === 0) return NOTHING;
  await Promise.all(working);
  return unpacked;
}

type Unpack = (body: Buffer) => Promise<Buffer>;

/** `null`: it is decompressed where it is read. */
function unpackerOf(batch: Buffer): Unpack | null {
  const bodyBytes = batch.length - head.HEADER_BYTES;
  switch (compressionOf(batch.readInt16BE(head.ATTRIBUTES_AT))) {
    case 'gzip':
      // It ends with what it holds, modulo 4 GiB.
      return bodyBytes >= 4 && batch.readUInt32LE(batch.length - 4) >= LARGE_BYTES
        ? gunzipped
        : null;
    case 'zstd':
      return bodyBytes >= LARGE_ZSTD_BYTES ? zstdDecompressed : null;
    default:
      return null;
  }
}

const gunzipped: Unpack = (body) =>
  new Promise((resolve, reject) => {
    gunzip(body, (error, bytes) => (error === null ? resolve(bytes) : reject(error)));
  });

const zstdDecompressed: Unpack = (body) =>
  new Promise((resolve, reject) => {
    zstdDecompress(body, (error, bytes) => (error === null ? resolve(bytes) : reject(error)));
  });
