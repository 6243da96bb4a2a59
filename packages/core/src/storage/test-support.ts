/**
 * Small snapshots, and a way to await what waits for a `ManualClock`: for the tests of this folder.
 */
import { crc32 } from '../base/codec/crc32.ts';
import type { ManualClock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';
import type { ExecutionRef, OperatorId, VertexId } from '../base/ids.ts';
import type { SnapshotMetadata, StateHandle, SubtaskSnapshot } from '../protocol/snapshot.ts';
import { dataFileName } from './snapshot-layout.ts';
import { writeSnapshotData } from './snapshot-data-writer.ts';
import { writeFileDurably } from './durable-file.ts';
import type { StorageIo } from './storage-io.ts';

export const JOB_ID = '0123456789abcdef0123456789abcdef';
export const VERTEX_ID = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' as VertexId;

export function execution(subtask: number, counter = 1): ExecutionRef {
  return { vertexId: VERTEX_ID, subtask, attempt: { epoch: 1, counter } };
}

/** Metadata of a checkpoint of one vertex with these data, one a subtask. */
export function metadataOf(
  checkpointId: number,
  data: readonly (StateHandle | null)[],
): SnapshotMetadata {
  return {
    formatVersion: 1,
    kind: 'checkpoint',
    jobId: JOB_ID,
    jobName: 'totals',
    checkpointId,
    triggeredAt: 1_700_000_000_000,
    vertices: [
      {
        vertexId: VERTEX_ID,
        name: 'sum',
        parallelism: data.length,
        maxParallelism: 128,
        operatorIds: [VERTEX_ID as string as OperatorId],
        fullyFinished: false,
        subtasks: data.map(subtaskOf),
      },
    ],
    coordinators: [],
  };
}

/** Writes a file of subtask `subtask` with this text and returns its handle. */
export async function writeData(
  io: StorageIo,
  location: string,
  subtask: number,
  text = `state of ${subtask}`,
): Promise<StateHandle> {
  const fileName = dataFileName(execution(subtask));
  const target = { location, fileName, inlineBytesMax: 0 };
  const handle = await writeSnapshotData(io, target, (sink) => sink.write(Buffer.from(text)));
  return handle!;
}

/** A file in `shared`, as an incremental backend would write it. */
export async function writeShared(
  fileSystem: FileSystem,
  path: string,
  text: string,
): Promise<StateHandle> {
  const bytes = Buffer.from(text);
  await writeFileDurably(fileSystem, path, bytes);
  return { kind: 'file', path, sizeBytes: bytes.byteLength, checksum: crc32(bytes) };
}

/** Awaits `promise` and moves the clock on whenever nothing else happens. */
export async function runWithClock<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const watched = promise.finally(() => {
    isSettled = true;
  });
  watched.catch(() => undefined);
  for (let round = 0; round < 1_000 && !isSettled; round++) {
    for (let turn = 0; turn < 200 && !isSettled; turn++) await Promise.resolve();
    if (!isSettled && clock.pendingCount() > 0) clock.advance(1_000);
  }
  if (!isSettled) throw new Error('the operation waits for something that never comes');
  return watched;
}

/** Every file below `directory`, sorted. */
export async function filesBelow(fileSystem: FileSystem, directory: string): Promise<string[]> {
  const files: string[] = [];
  for (const name of await fileSystem.list(directory)) {
    const path = `${directory}/${name}`;
    const stat = await fileSystem.stat(path);
    if (stat?.isDirectory === true) files.push(...(await filesBelow(fileSystem, path)));
    else files.push(path);
  }
  return files;
}

function subtaskOf(data: StateHandle | null, subtask: number): SubtaskSnapshot {
  return {
    vertexId: VERTEX_ID,
    subtask,
    attempt: { epoch: 1, counter: 1 },
    data,
    operators: [],
    inputs: [],
    outputs: [],
    finished: false,
    sizeBytes: 0,
  };
}
