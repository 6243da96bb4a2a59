/** The compressions of record batches, in both directions, by Kafka's numbers. */
import { compressionsAlgorithms, crc32c as checksum } from '@platformatic/kafka';

export type Compression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';

const BY_NUMBER: readonly Compression[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

export function compressionNumber(compression: Compression): number {
  return BY_NUMBER.indexOf(compression);
}

/** The compression of a batch; `null`: a number that Kafka does not have. */
export function compressionOf(attributes: number): Compression | null {
  return BY_NUMBER[attributes & 0x07] ?? null;
}

export function compress(compression: Compression, bytes: Buffer): Buffer {
  return compressionsAlgorithms[compression].compressSync(bytes);
}

export function decompress(compression: Compression, bytes: Buffer): Buffer {
  return compressionsAlgorithms[compression].decompressSync(bytes);
}

/**
 * CRC-32C: by the processor where the optional native package is installed, else by WebAssembly.
 */
export function crc32c(bytes: Buffer): number {
  return checksum(bytes) >>> 0;
}
