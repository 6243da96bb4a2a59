import type { StoredSnapshot } from './checkpoint-storage.ts';
import type { StorageIo } from './storage-io.ts';

/**
 * The snapshot a user names: its directory, its `_metadata`, or a `file:` URI of either. Fails with
 * ARGUMENT_INVALID when nothing is there, it is no snapshot, or it was never completed, and with
 * STATE_CORRUPT (naming an intact older neighbour, if any) when damaged.
 */
export declare function locateSnapshot(
  io: StorageIo,
  userPath: string,
  workingDirectory: string,
): Promise<StoredSnapshot>;
