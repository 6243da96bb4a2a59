/**
 * What `weir inspect` and the REST interface tell about a snapshot from `_metadata` alone: no data
 * file is read, no code of the job is needed. Rows of a state are read by `state/snapshot`.
 */
import type {
  KeyedSnapshot,
  OperatorSnapshot,
  OperatorStateSnapshot,
  Section,
  SnapshotKind,
  StateHandle,
  StateKind,
  SubtaskSnapshot,
  VertexSnapshot,
} from '../protocol/snapshot.ts';
import { handlePath } from './snapshot-layout.ts';
import type { StoredSnapshot } from './stored-snapshot.ts';

export interface SnapshotSummary {
  readonly path: string;
  readonly kind: SnapshotKind;
  readonly jobId: string;
  readonly jobName: string;
  readonly checkpointId: number;
  /** Wall-clock milliseconds. */
  readonly triggeredAt: number;
  readonly completedAt: number;
  /** Data of all subtasks and coordinators, inline or in files. */
  readonly sizeBytes: number;
  readonly vertices: readonly VertexSummary[];
  readonly coordinators: readonly CoordinatorSummary[];
}

export interface VertexSummary {
  readonly vertexId: string;
  readonly name: string;
  readonly parallelism: number;
  readonly maxParallelism: number;
  readonly fullyFinished: boolean;
  readonly operators: readonly OperatorSummary[];
  readonly subtasks: readonly SubtaskSummary[];
}

export interface OperatorSummary {
  readonly operatorId: string;
  readonly uid: string | null;
  readonly name: string;
  readonly type: string;
  /** Keys with any state, over all subtasks. */
  readonly keyCount: number;
  readonly timerCount: number;
  /** Bytes of all keyed states together: their entries stand side by side, by key group. */
  readonly keyedSizeBytes: number;
  readonly keyedStates: readonly KeyedStateSummary[];
  readonly operatorStates: readonly OperatorStateSummary[];
}

export interface KeyedStateSummary {
  readonly name: string;
  readonly kind: StateKind;
  readonly version: number;
}

export interface OperatorStateSummary {
  readonly name: string;
  readonly mode: 'list' | 'union' | 'broadcast';
  readonly itemCount: number;
  readonly sizeBytes: number;
}

export interface SubtaskSummary {
  readonly subtask: number;
  readonly finished: boolean;
  /** Absolute path; `null` when the data stands in `_metadata`, or there is none. */
  readonly file: string | null;
  readonly sizeBytes: number;
  /** CRC-32 of its data; `null` when there is none. */
  readonly checksum: number | null;
  readonly keyCount: number;
  readonly keyGroups: readonly [number, number] | null;
  readonly inFlight: InFlightSummary;
}

/** Frames that were on their way when the barrier overtook them. */
export interface InFlightSummary {
  readonly frameCount: number;
  readonly sizeBytes: number;
  /** Channels with at least one such frame. */
  readonly channelIds: readonly number[];
}

export interface CoordinatorSummary {
  readonly operatorId: string;
  readonly uid: string | null;
  readonly sizeBytes: number;
}

export function summarizeSnapshot(snapshot: StoredSnapshot): SnapshotSummary {
  const { metadata, directory, completedAt } = snapshot;
  const vertices = metadata.vertices.map((vertex) => summarizeVertex(directory, vertex));
  const coordinators = metadata.coordinators.map(({ operatorId, uid, bytes }) => {
    return { operatorId, uid, sizeBytes: bytes.byteLength };
  });
  const subtasks = vertices.flatMap((vertex) => vertex.subtasks);
  return {
    path: directory,
    kind: metadata.kind,
    jobId: metadata.jobId,
    jobName: metadata.jobName,
    checkpointId: metadata.checkpointId,
    triggeredAt: metadata.triggeredAt,
    completedAt,
    sizeBytes: sum([...subtasks, ...coordinators].map(({ sizeBytes }) => sizeBytes)),
    vertices,
    coordinators,
  };
}

function summarizeVertex(directory: string, vertex: VertexSnapshot): VertexSummary {
  const { vertexId, name, parallelism, maxParallelism, fullyFinished, subtasks } = vertex;
  const byOperator = Map.groupBy(
    subtasks.flatMap((subtask) => subtask.operators),
    (operator) => operator.operatorId,
  );
  return {
    vertexId,
    name,
    parallelism,
    maxParallelism,
    fullyFinished,
    operators: [...byOperator.values()].map(summarizeOperator),
    subtasks: subtasks.map((subtask) => summarizeSubtask(directory, subtask)),
  };
}

/** `parts` are the shares of one operator's subtasks; there is at least one. */
function summarizeOperator(parts: readonly OperatorSnapshot[]): OperatorSummary {
  const { operatorId, uid, name, type } = parts[0]!;
  const keyed = parts.flatMap((part) => part.keyed ?? []);
  const declared = new Map(keyed.flatMap(({ states }) => states.map((meta) => [meta.name, meta])));
  const operatorStates = Map.groupBy(
    parts.flatMap((part) => part.operatorStates),
    (state) => state.name,
  );
  return {
    operatorId,
    uid,
    name,
    type,
    keyCount: sum(keyed.map(({ keyCount }) => keyCount)),
    timerCount: sum(keyed.flatMap(({ timers }) => timers.map(({ count }) => count))),
    keyedSizeBytes: sum(keyed.map(keyedSizeBytes)),
    keyedStates: [...declared.values()].map((meta) => {
      return { name: meta.name, kind: meta.kind, version: meta.version };
    }),
    operatorStates: [...operatorStates.values()].map(summarizeOperatorState),
  };
}

function summarizeOperatorState(parts: readonly OperatorStateSnapshot[]): OperatorStateSummary {
  const { name, mode } = parts[0]!;
  const items = parts.flatMap((part) => part.items);
  return { name, mode, itemCount: sum(items.map(({ count }) => count)), sizeBytes: bytesOf(items) };
}

function summarizeSubtask(directory: string, snapshot: SubtaskSnapshot): SubtaskSummary {
  const { subtask, finished, data, operators, inputs, outputs } = snapshot;
  const keyed = operators.flatMap((operator) => operator.keyed ?? []);
  const channels = [...inputs, ...outputs].filter(({ frames }) => frames.length > 0);
  const frames = channels.flatMap((channel) => channel.frames);
  return {
    subtask,
    finished,
    file: data?.kind === 'file' ? handlePath(directory, data) : null,
    sizeBytes: dataSizeBytes(data),
    checksum: data?.checksum ?? null,
    keyCount: sum(keyed.map(({ keyCount }) => keyCount)),
    keyGroups: keyed[0]?.keyGroups ?? null,
    inFlight: {
      frameCount: sum(frames.map(({ count }) => count)),
      sizeBytes: bytesOf(frames),
      channelIds: channels.map(({ channelId }) => channelId),
    },
  };
}

function dataSizeBytes(data: StateHandle | null): number {
  if (data === null) return 0;
  return data.kind === 'file' ? data.sizeBytes : data.bytes.byteLength;
}

function keyedSizeBytes({ blocks, timers }: KeyedSnapshot): number {
  return bytesOf(blocks) + bytesOf(timers);
}

function bytesOf(sections: readonly Section[]): number {
  return sum(sections.map(({ sizeBytes }) => sizeBytes));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
