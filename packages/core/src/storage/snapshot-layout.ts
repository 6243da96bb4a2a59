/**
 * Names of directories and files in checkpoint storage, in one place, since cleaning up is allowed
 * to remove only what carries one of them.
 */
import type { ExecutionRef } from '../base/ids.ts';
import { attemptName } from '../base/ids.ts';
import type { StateHandle } from '../protocol/snapshot.ts';
import { joinPath, resolvePath } from './paths.ts';

export const METADATA_FILE = '_metadata';
/** `_metadata` while it is being written. */
export const METADATA_IN_PROGRESS_FILE = '.metadata.inprogress';
export const SHARED_DIRECTORY = 'shared';
export const TASK_OWNED_DIRECTORY = 'taskowned';

/** Stands before the id in the location of a checkpoint that the JobManager keeps in memory. */
const MEMORY_LOCATION_PREFIX = 'jobmanager:chk-';

const CHECKPOINT_DIRECTORY = /^chk-([1-9][0-9]*)$/;
const DATA_FILE = /^[0-9a-f]{32}-\d+-\d+-\d+(-[A-Za-z0-9._-]+)?\.data$/;
const SHARED_FILE = /^([1-9][0-9]*)-[A-Za-z0-9._-]+\.data$/;

/**
 * Data file of one attempt of a subtask in a snapshot: unique, so that no attempt overwrites
 * another's.
 */
export function dataFileName(execution: ExecutionRef, part?: string): string {
  const base = `${execution.vertexId}-${execution.subtask}-${attemptName(execution.attempt)}`;
  return part === undefined ? `${base}.data` : `${base}-${part}.data`;
}

/** A file that may serve several checkpoints; the id is that of the one that wrote it. */
export function sharedFileName(checkpointId: number, unique: string): string {
  return `${checkpointId}-${unique}.data`;
}

export function checkpointDirectoryName(checkpointId: number): string {
  return `chk-${checkpointId}`;
}

/** `null` when the name is not that of a checkpoint's directory. */
export function parseCheckpointDirectoryName(name: string): number | null {
  const match = CHECKPOINT_DIRECTORY.exec(name);
  return match === null ? null : Number(match[1]);
}

/** The id of the checkpoint that wrote a shared file; `null` when the name is not one of ours. */
export function parseSharedFileName(name: string): number | null {
  const match = SHARED_FILE.exec(name);
  return match === null ? null : Number(match[1]);
}

export function isDataFileName(name: string): boolean {
  return DATA_FILE.test(name);
}

export function memoryLocation(checkpointId: number): string {
  return `${MEMORY_LOCATION_PREFIX}${checkpointId}`;
}

/** There is no directory: a task must put all its data into the acknowledgement. */
export function isMemoryLocation(location: string): boolean {
  return location.startsWith(MEMORY_LOCATION_PREFIX);
}

export function savepointDirectoryName(jobId: string, suffix: string): string {
  return `savepoint-${jobId.slice(0, 6)}-${suffix}`;
}

/** Absolute path of a file handle of a snapshot in `directory`. */
export function handlePath(directory: string, handle: StateHandle & { kind: 'file' }): string {
  return resolvePath(directory, handle.path);
}

export function metadataPath(directory: string): string {
  return joinPath(directory, METADATA_FILE);
}
