import type { SnapshotMetadata } from '../protocol/snapshot.ts';

export declare function encodeSnapshotMetadata(metadata: SnapshotMetadata): Uint8Array;

/** `path` names the file in errors: STATE_CORRUPT when damaged, STATE_INCOMPATIBLE when too new. */
export declare function decodeSnapshotMetadata(bytes: Uint8Array, path: string): SnapshotMetadata;
