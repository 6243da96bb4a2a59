/**
 * What a subtask hands over for a checkpoint: the self-describing table of contents of its data.
 * The bytes stand in one file per subtask (or inline, when few); every section names its place, so
 * that state can be found by key group without the job's code. The same types stand in `_metadata`.
 */
import type { Attempt, OperatorId, VertexId } from '../base/ids.ts';

/** Where bytes are. `path` is relative to the snapshot's directory, unless it is absolute. */
export type StateHandle =
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly sizeBytes: number;
      /** CRC-32 of the whole file. */
      readonly checksum: number;
    }
  | { readonly kind: 'inline'; readonly bytes: Uint8Array; readonly checksum: number };

/** A run of bytes in the subtask's data. `checksum` is its CRC-32. */
export interface Section {
  readonly offset: number;
  readonly sizeBytes: number;
  readonly count: number;
  readonly checksum: number;
}

export type StateKind = 'value' | 'list' | 'map' | 'reducing' | 'aggregating';

/** A keyed state as declared: enough to read it offline and to refuse what does not fit. */
export interface KeyedStateMeta {
  readonly name: string;
  readonly kind: StateKind;
  /** Version of the user's type; 1 until it says otherwise. */
  readonly version: number;
  /** JSON Schema of the user's type, as text, if the job described it. */
  readonly schema?: string;
  /**
   * Shape (`state/value-shape.ts`, as JSON) of the value that stood where there was none yet, if
   * the kind of state has one: while it is the same, the type is taken to be the same.
   */
  readonly shape?: string;
}

export interface KeyedSnapshot {
  /** First and last key group, both included. */
  readonly keyGroups: readonly [number, number];
  readonly states: readonly KeyedStateMeta[];
  /** Blocks of entries; a key group may have several. */
  readonly blocks: readonly (Section & { readonly keyGroup: number })[];
  readonly timers: readonly (Section & { readonly keyGroup: number })[];
  /** Number of keys with any state. */
  readonly keyCount: number;
}

export interface OperatorStateSnapshot {
  readonly name: string;
  readonly mode: 'list' | 'union' | 'broadcast';
  /** As of a keyed state; absent: 1. */
  readonly version?: number;
  readonly schema?: string;
  /** One section an item (for broadcast state: one per entry). */
  readonly items: readonly Section[];
}

/** State of one operator in one subtask. */
export interface OperatorSnapshot {
  readonly operatorId: OperatorId;
  readonly uid: string | null;
  readonly name: string;
  readonly type: string;
  readonly keyed: KeyedSnapshot | null;
  readonly operatorStates: readonly OperatorStateSnapshot[];
}

/** A channel seen by its consumer: the cut at `mark`, with the frames [k, mark) in between. */
export interface InputChannelSnapshot {
  readonly channelId: number;
  readonly k: number;
  readonly mark: number;
  readonly watermark: number;
  readonly idle: boolean;
  readonly endOfData: boolean;
  /** Encoded frames [k, mark); empty when aligned. */
  readonly frames: readonly Section[];
}

/**
 * A channel seen by its producer: frames [mark, e) were produced but not sent before the barrier.
 */
export interface OutputChannelSnapshot {
  readonly channelId: number;
  readonly mark: number;
  readonly e: number;
  readonly frames: readonly Section[];
}

export interface SubtaskSnapshot {
  readonly vertexId: VertexId;
  readonly subtask: number;
  readonly attempt: Attempt;
  readonly data: StateHandle | null;
  readonly operators: readonly OperatorSnapshot[];
  readonly inputs: readonly InputChannelSnapshot[];
  readonly outputs: readonly OutputChannelSnapshot[];
  /** The subtask had ended its work: it needs no state when restored. */
  readonly finished: boolean;
  readonly sizeBytes: number;
}

/** Snapshot of a component on the JobManager: the split enumerator of a source. */
export interface CoordinatorSnapshot {
  readonly operatorId: OperatorId;
  readonly uid: string | null;
  readonly bytes: Uint8Array;
}

/** A vertex in a snapshot. */
export interface VertexSnapshot {
  readonly vertexId: VertexId;
  readonly name: string;
  readonly parallelism: number;
  readonly maxParallelism: number;
  /** Operator ids in the chain, head first. */
  readonly operatorIds: readonly OperatorId[];
  /** All subtasks had finished; `subtasks` is then empty. */
  readonly fullyFinished: boolean;
  readonly subtasks: readonly SubtaskSnapshot[];
}

export type SnapshotKind = 'checkpoint' | 'savepoint';

/** The whole content of `_metadata`. */
export interface SnapshotMetadata {
  readonly formatVersion: 1;
  readonly kind: SnapshotKind;
  readonly jobId: string;
  readonly jobName: string;
  /** As `JobGraph.codeHash`; absent: not known. */
  readonly codeHash?: string;
  readonly checkpointId: number;
  /** Wall-clock milliseconds of the trigger. */
  readonly triggeredAt: number;
  readonly vertices: readonly VertexSnapshot[];
  readonly coordinators: readonly CoordinatorSnapshot[];
}
