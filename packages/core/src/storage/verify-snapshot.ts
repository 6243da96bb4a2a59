import type { StateCorruptionError } from '../base/errors.ts';
import type { StoredSnapshot } from './checkpoint-storage.ts';
import type { StorageIo } from './storage-io.ts';

/** Reads every byte of a snapshot and compares lengths and checksums; the result lists the damage. */
export declare function verifySnapshotDeep(
  io: StorageIo,
  snapshot: StoredSnapshot,
): Promise<readonly StateCorruptionError[]>;
