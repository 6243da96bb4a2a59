/**
 * How a restored task, or an inspecting tool, reads sections of a subtask's data. Nothing leaves
 * here that does not match its checksum, and damage is told with the file, expected and found sum.
 */
import { checksumText, crc32 } from '../base/codec/crc32.ts';
import { StateCorruptionError } from '../base/errors.ts';
import type { FileReader } from '../base/file-system.ts';
import type { StateHandle } from '../protocol/snapshot.ts';
import { handlePath, metadataPath } from './snapshot-layout.ts';
import { retryTransient } from './retry.ts';
import type { StorageIo } from './storage-io.ts';

/** A run of bytes; without `checksum` only its length is checked. */
export interface DataSection {
  readonly offset: number;
  readonly sizeBytes: number;
  readonly checksum?: number;
}

/** Reads parts of a subtask's data, each checked against its checksum. */
export interface SnapshotDataReader {
  /** Fails with STATE_CORRUPT, naming the file, expected and found checksum. */
  read(section: DataSection): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** `directory` is the snapshot's, against which the path of the handle is resolved. */
export async function openSnapshotData(
  io: StorageIo,
  directory: string,
  handle: StateHandle,
): Promise<SnapshotDataReader> {
  if (handle.kind === 'inline') return openInline(metadataPath(directory), handle);
  const path = handlePath(directory, handle);
  const file = await retryTransient(io.clock, () => io.fileSystem.openForRead(path));
  try {
    const found = await retryTransient(io.clock, () => file.sizeBytes());
    if (found !== handle.sizeBytes) throw sizeError(path, handle.sizeBytes, found);
  } catch (error) {
    await file.close();
    throw error;
  }
  return {
    read: (section) => readSection(io, path, file, section),
    close: () => file.close(),
  };
}

/** The error for bytes whose checksum is not the one written down; `where` names part of a file. */
export function checksumError(
  path: string,
  expected: number,
  found: number,
  where = '',
): StateCorruptionError {
  const expectedChecksum = checksumText(expected);
  const foundChecksum = checksumText(found);
  return new StateCorruptionError(
    `the snapshot file ${path} is damaged${where}: expected checksum ${expectedChecksum}, found ` +
      `${foundChecksum}; restore the file from a copy, or start from another snapshot`,
    { details: { path, expectedChecksum, foundChecksum } },
  );
}

/** The error for a file that has not the size written down. */
export function sizeError(path: string, expected: number, found: number): StateCorruptionError {
  return new StateCorruptionError(
    `the snapshot file ${path} is damaged: it should have ${expected} bytes, but has ${found}; ` +
      'restore the file from a copy, or start from another snapshot',
    { details: { path, expectedSizeBytes: expected, foundSizeBytes: found } },
  );
}

function openInline(path: string, handle: StateHandle & { kind: 'inline' }): SnapshotDataReader {
  const found = crc32(handle.bytes);
  if (found !== handle.checksum)
    throw checksumError(path, handle.checksum, found, ' (inline state)');
  return {
    read: async (section) => {
      const end = section.offset + section.sizeBytes;
      if (end > handle.bytes.byteLength) throw sizeError(path, end, handle.bytes.byteLength);
      return verified(path, handle.bytes.slice(section.offset, end), section);
    },
    close: async () => undefined,
  };
}

async function readSection(
  io: StorageIo,
  path: string,
  file: FileReader,
  section: DataSection,
): Promise<Uint8Array> {
  const { offset, sizeBytes } = section;
  const bytes = await retryTransient(io.clock, () => file.read(offset, sizeBytes));
  if (bytes.byteLength < sizeBytes)
    throw sizeError(path, offset + sizeBytes, offset + bytes.byteLength);
  return verified(path, bytes, section);
}

function verified(path: string, bytes: Uint8Array, section: DataSection): Uint8Array {
  const { offset, sizeBytes, checksum } = section;
  const found = checksum === undefined ? undefined : crc32(bytes);
  if (checksum !== undefined && found !== undefined && found !== checksum)
    throw checksumError(path, checksum, found, ` in bytes ${offset} to ${offset + sizeBytes}`);
  return bytes;
}
