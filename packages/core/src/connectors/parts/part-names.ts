import type { Attempt } from '../../base/ids.ts';

/** A part file up to a size. */
export interface PartFileRef {
  readonly inProgressPath: string;
  readonly finalPath: string;
  readonly sizeBytes: number;
}

/** A closed part file, to be given its final name. */
export type FileCommittable = PartFileRef;

/** What a writer had begun at a checkpoint. */
export interface FileWriterState {
  readonly subtask: number;
  readonly attempt: Attempt;
  /** Part of the names of the writer's files. */
  readonly uid: string;
  /** Number of its next part file. */
  readonly nextPart: number;
  /** Files open at the checkpoint: what stood in them belongs to it. */
  readonly open: readonly PartFileRef[];
}
