/**
 * The thorough check of a snapshot, for `weir inspect --verify` and for whoever copies snapshots
 * around: it reads all of it. Starting from a snapshot checks only what it reads.
 */
import { crc32 } from '../base/codec/crc32.ts';
import { StateCorruptionError } from '../base/errors.ts';
import type { StateHandle } from '../protocol/snapshot.ts';
import { checksumError, openSnapshotData } from './snapshot-data-reader.ts';
import { handlePath } from './snapshot-layout.ts';
import type { StorageIo } from './storage-io.ts';
import { snapshotData, type StoredSnapshot } from './stored-snapshot.ts';

/** Read at a time: few calls, little memory. */
const CHUNK_BYTES = 1024 * 1024;

/**
 * Reads every byte of a snapshot and compares lengths and checksums; the result lists the damage.
 */
export async function verifySnapshotDeep(
  io: StorageIo,
  snapshot: StoredSnapshot,
): Promise<readonly StateCorruptionError[]> {
  const damage: StateCorruptionError[] = [];
  for (const { handle } of snapshotData(snapshot.metadata)) {
    try {
      await verifyData(io, snapshot.directory, handle);
    } catch (error) {
      if (!(error instanceof StateCorruptionError)) throw error;
      damage.push(error);
    }
  }
  return damage;
}

async function verifyData(io: StorageIo, directory: string, handle: StateHandle): Promise<void> {
  // Opening checks the length, and for inline data the checksum.
  const reader = await openSnapshotData(io, directory, handle);
  try {
    if (handle.kind === 'inline') return;
    let checksum = 0;
    for (let offset = 0; offset < handle.sizeBytes; offset += CHUNK_BYTES) {
      const sizeBytes = Math.min(CHUNK_BYTES, handle.sizeBytes - offset);
      checksum = crc32(await reader.read({ offset, sizeBytes }), checksum);
    }
    if (checksum !== handle.checksum)
      throw checksumError(handlePath(directory, handle), handle.checksum, checksum);
  } finally {
    await reader.close();
  }
}
