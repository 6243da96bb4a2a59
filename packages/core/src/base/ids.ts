/**
 * Names of things that messages and snapshots carry. All are plain data, so that they cross
 * threads.
 */

/** 32 hexadecimal digits. */
export type JobId = string & { readonly __brand: 'JobId' };
/** 32 hexadecimal digits: murmur3-128 of the uid, or of the operator's place in the graph. */
export type OperatorId = string & { readonly __brand: 'OperatorId' };
/** The id of a job vertex is the operator id of the head of its chain. */
export type VertexId = string & { readonly __brand: 'VertexId' };

export const JOB_ID_PATTERN: RegExp = /^[0-9a-f]{32}$/;

/**
 * One try of a subtask. Ordered by leader epoch, then counter; never reused, so whatever carries a
 * lower attempt is outdated and is fenced.
 */
export interface Attempt {
  readonly epoch: number;
  readonly counter: number;
}

export function compareAttempts(a: Attempt, b: Attempt): number {
  return a.epoch - b.epoch || a.counter - b.counter;
}

export function isSameAttempt(a: Attempt, b: Attempt): boolean {
  return a.epoch === b.epoch && a.counter === b.counter;
}

/** Short text of an attempt, used in names of files and transactions: `3-17`. */
export function attemptName(attempt: Attempt): string {
  return `${attempt.epoch}-${attempt.counter}`;
}

/** One attempt of one subtask of a vertex. */
export interface ExecutionRef {
  readonly vertexId: VertexId;
  readonly subtask: number;
  readonly attempt: Attempt;
}

/** Identifies a subtask whatever its attempt; a key for maps. */
export type SubtaskKey = string & { readonly __brand: 'SubtaskKey' };

export function subtaskKey(vertexId: VertexId, subtask: number): SubtaskKey {
  return `${vertexId}:${subtask}` as SubtaskKey;
}
