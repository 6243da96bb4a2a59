/**
 * The names of part files, and what checkpoints hold of them. A name tells job, sink, subtask and
 * attempt, so that recovery can find what dead attempts left, and touches nothing else:
 *
 *   part-<job>-<operator>-<subtask>-<epoch>-<counter>-<random>-<n>       finished
 *   .part-….inprogress.<random>                                          being written, or pending
 *
 * The first random part is the writer's: should the data folder of a job be lost and its attempts
 * be counted from the start again, names of finished files still do not come twice.
 */
import type { Attempt } from '../../base/ids.ts';
import { attemptName } from '../../base/ids.ts';
import type { SinkIdentity } from '../../api/sink.ts';

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
  /** Begins the names of the writer's files. */
  readonly uid: string;
  /** Number of its next part file: it has made none from this on. */
  readonly nextPart: number;
  /** Files open at the checkpoint: what stood in them belongs to it. */
  readonly open: readonly PartFileRef[];
}

/** What a name of a part file tells. */
export interface PartName {
  readonly uid: string;
  readonly subtask: number;
  readonly attempt: Attempt;
  readonly part: number;
  readonly isFinished: boolean;
}

const ID_LENGTH = 6;

export interface WriterIdentity extends SinkIdentity {
  readonly subtask: number;
  readonly attempt: Attempt;
}

/** What the names of all part files of one writer begin with. */
export function writerUid(identity: WriterIdentity, random: string): string {
  const { subtask, attempt } = identity;
  return `${sinkPrefix(identity)}-${subtask}-${attemptName(attempt)}-${random}`;
}

export function finishedName(uid: string, part: number, suffix: string): string {
  return `part-${uid}-${part}${suffix}`;
}

export function inProgressName(uid: string, part: number, random: string): string {
  return `.part-${uid}-${part}.inprogress.${random}`;
}

/** Whether, and what, a file name tells as a part file of this sink; `null` for any other. */
export function parsePartName(identity: SinkIdentity, name: string): PartName | null {
  const match = /^(\.?)part-(([0-9a-f]+-[0-9a-f]+)-(\d+)-(\d+)-(\d+)-[0-9a-f]+)-(\d+)(.*)$/s.exec(
    name,
  );
  if (match === null || match[3] !== sinkPrefix(identity)) return null;
  const isFinished = match[1] === '';
  if (!isFinished && !match[8]!.startsWith('.inprogress.')) return null;
  return {
    uid: match[2]!,
    subtask: Number(match[4]),
    attempt: { epoch: Number(match[5]), counter: Number(match[6]) },
    part: Number(match[7]),
    isFinished,
  };
}

function sinkPrefix({ jobId, operatorId }: SinkIdentity): string {
  return `${jobId.slice(0, ID_LENGTH)}-${operatorId.slice(0, ID_LENGTH)}`;
}
