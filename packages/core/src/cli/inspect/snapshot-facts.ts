/** The table of contents of a snapshot, summed over subtasks: `weir inspect --json`. Pure. */
import type {
  OperatorSnapshot,
  OperatorStateSnapshot,
  Section,
  SnapshotMetadata,
  StateHandle,
  SubtaskSnapshot,
  VertexSnapshot,
} from '../../protocol/snapshot.ts';
import type { StoredSnapshot } from '../../storage/stored-snapshot.ts';

export interface StateFacts {
  readonly name: string;
  /** As declared: `value`, `list`, `map` and so on, or `union` or `broadcast`. */
  readonly kind: string;
  readonly scope: 'keyed' | 'operator';
  /** Items of operator state; keyed states of an operator share its `keys`. */
  readonly items: number | null;
  readonly sizeBytes: number | null;
}

export interface OperatorFacts {
  readonly id: string;
  readonly uid: string | null;
  readonly name: string;
  readonly type: string;
  readonly parallelism: number;
  readonly maxParallelism: number;
  /** Every subtask had finished; there is no state left. */
  readonly finished: boolean;
  /** `null`: no keyed state. */
  readonly keys: number | null;
  readonly timers: number;
  readonly sizeBytes: number;
  readonly states: readonly StateFacts[];
  /** Bytes of the split enumerator's state; `null` for what is no source. */
  readonly enumeratorBytes: number | null;
}

export interface SnapshotFacts {
  readonly directory: string;
  readonly kind: 'checkpoint' | 'savepoint';
  readonly checkpointId: number;
  readonly jobId: string;
  readonly jobName: string;
  /** ISO 8601, UTC. */
  readonly triggeredAt: string;
  readonly completedAt: string;
  readonly formatVersion: number;
  /** Data of all subtasks, in files and in `_metadata`. */
  readonly sizeBytes: number;
  readonly files: number;
  readonly operators: readonly OperatorFacts[];
}

export function snapshotFacts({ directory, metadata, completedAt }: StoredSnapshot): SnapshotFacts {
  const data = metadata.vertices
    .flatMap(({ subtasks }) => subtasks)
    .flatMap((subtask) => subtask.data ?? []);
  return {
    directory,
    kind: metadata.kind,
    checkpointId: metadata.checkpointId,
    jobId: metadata.jobId,
    jobName: metadata.jobName,
    triggeredAt: new Date(metadata.triggeredAt).toISOString(),
    completedAt: new Date(completedAt).toISOString(),
    formatVersion: metadata.formatVersion,
    sizeBytes: sum(data, bytesOf),
    files: data.filter(({ kind }) => kind === 'file').length,
    operators: metadata.vertices.flatMap((vertex) => operatorsOf(vertex, metadata)),
  };
}

/** An operator in one subtask, with where its bytes are. */
export interface OperatorPart {
  readonly subtask: SubtaskSnapshot;
  readonly operator: OperatorSnapshot;
}

/** What the subtasks of a vertex stored for one of its operators, by subtask. */
export function partsOf(vertex: VertexSnapshot, operatorId: string): readonly OperatorPart[] {
  return vertex.subtasks.flatMap((subtask) => {
    const operator = subtask.operators.find((one) => one.operatorId === operatorId);
    return operator === undefined ? [] : [{ subtask, operator }];
  });
}

function operatorsOf(
  vertex: VertexSnapshot,
  { coordinators }: SnapshotMetadata,
): readonly OperatorFacts[] {
  return vertex.operatorIds.map((id) => {
    const parts = partsOf(vertex, id).map(({ operator }) => operator);
    const coordinator = coordinators.find((one) => one.operatorId === id);
    const keyed = parts.flatMap((operator) => operator.keyed ?? []);
    const blocks = keyed.flatMap((one) => [...one.blocks, ...one.timers]);
    const items = parts.flatMap((operator) => operator.operatorStates.flatMap((one) => one.items));
    return {
      id,
      uid: parts[0]?.uid ?? coordinator?.uid ?? null,
      name: parts[0]?.name ?? vertex.name,
      type: parts[0]?.type ?? 'unknown',
      parallelism: vertex.parallelism,
      maxParallelism: vertex.maxParallelism,
      finished: vertex.fullyFinished,
      keys: keyed.length === 0 ? null : sum(keyed, ({ keyCount }) => keyCount),
      timers: sum(keyed, ({ timers }) => sum(timers, ({ count }) => count)),
      sizeBytes: sum([...blocks, ...items], ({ sizeBytes }: Section) => sizeBytes),
      states: statesOf(parts),
      enumeratorBytes: coordinator?.bytes.byteLength ?? null,
    };
  });
}

function statesOf(parts: readonly OperatorSnapshot[]): readonly StateFacts[] {
  const states = new Map<string, StateFacts>();
  for (const { keyed, operatorStates } of parts) {
    for (const { name, kind } of keyed?.states ?? [])
      states.set(name, { name, kind, scope: 'keyed', items: null, sizeBytes: null });
    for (const state of operatorStates)
      states.set(state.name, withItems(states.get(state.name), state));
  }
  return [...states.values()];
}

function withItems(before: StateFacts | undefined, state: OperatorStateSnapshot): StateFacts {
  const items = state.items.length;
  const itemsBefore = before?.items ?? 0;
  return {
    name: state.name,
    kind: state.mode,
    scope: 'operator',
    // Every subtask stores all of a broadcast state.
    items: state.mode === 'broadcast' ? Math.max(itemsBefore, items) : itemsBefore + items,
    sizeBytes: (before?.sizeBytes ?? 0) + sum(state.items, ({ sizeBytes }) => sizeBytes),
  };
}

function bytesOf(handle: StateHandle): number {
  return handle.kind === 'file' ? handle.sizeBytes : handle.bytes.byteLength;
}

function sum<T>(values: readonly T[], pick: (value: T) => number): number {
  return values.reduce((total, value) => total + pick(value), 0);
}
