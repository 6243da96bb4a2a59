import type { StateHandle } from '../protocol/snapshot.ts';
import type { StorageIo } from './storage-io.ts';

/** Reads parts of a subtask's data, each checked against its checksum. */
export interface SnapshotDataReader {
  /** Fails with STATE_CORRUPT, naming the file, expected and found checksum. */
  read(section: {
    readonly offset: number;
    readonly sizeBytes: number;
    readonly checksum?: number;
  }): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** `directory` is the snapshot's, against which the path of the handle is resolved. */
export declare function openSnapshotData(
  io: StorageIo,
  directory: string,
  handle: StateHandle,
): Promise<SnapshotDataReader>;
