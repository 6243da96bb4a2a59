/** CRC-32 as in zip and gzip; pass the sum so far to go on with more bytes. */
import { crc32 as zlibCrc32 } from 'node:zlib';

export function crc32(bytes: Uint8Array, sumSoFar = 0): number {
  return zlibCrc32(bytes, sumSoFar);
}

/** A checksum as messages show it: eight hexadecimal digits. */
export function checksumText(checksum: number): string {
  return checksum.toString(16).padStart(8, '0');
}
