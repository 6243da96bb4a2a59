/**
 * A snapshot looked at by operator: state belongs to operators, and a job may have chained them
 * otherwise since. What is known of an operator stands in the snapshots of its subtasks, so of one
 * without any state only the id is known.
 */
import type { OperatorId } from '../../base/ids.ts';
import type {
  OperatorSnapshot,
  SnapshotMetadata,
  StateHandle,
  VertexSnapshot,
} from '../snapshot.ts';

/** One old subtask's share. */
export interface StoredPart {
  readonly snapshot: OperatorSnapshot;
  readonly data: StateHandle | null;
}

export interface StoredOperator {
  readonly operatorId: OperatorId;
  readonly uid: string | null;
  /** `null` when no subtask stored anything. */
  readonly name: string | null;
  readonly type: string | null;
  /** Where it ran; `null` when the snapshot has its split enumerator alone. */
  readonly vertex: VertexSnapshot | null;
  /** By old subtask; `null` where the operator stored nothing. */
  readonly parts: readonly (StoredPart | null)[];
  readonly keyCount: number;
  /** Items of its operator state. */
  readonly itemCount: number;
  /** With the state of its split enumerator. */
  readonly sizeBytes: number;
  /** Whether dropping it would lose anything. */
  readonly hasState: boolean;
}

export type StoredOperators = ReadonlyMap<OperatorId, StoredOperator>;

export function storedOperatorsOf(metadata: SnapshotMetadata): StoredOperators {
  const operators = new Map<OperatorId, StoredOperator>();
  const coordinators = new Map(metadata.coordinators.map((it) => [it.operatorId, it]));
  const add = (operatorId: OperatorId, vertex: VertexSnapshot | null): void => {
    const parts = vertex === null ? [] : partsOf(operatorId, vertex);
    const snapshots = parts.flatMap((part) => (part === null ? [] : [part.snapshot]));
    const coordinator = coordinators.get(operatorId);
    const coordinatorBytes = coordinator?.bytes.length ?? 0;
    const sizeBytes = sum(snapshots.map(sizeOf)) + coordinatorBytes;
    operators.set(operatorId, {
      operatorId,
      uid: snapshots[0]?.uid ?? coordinator?.uid ?? null,
      name: snapshots[0]?.name ?? null,
      type: snapshots[0]?.type ?? null,
      vertex,
      parts,
      keyCount: sum(snapshots.map(({ keyed }) => keyed?.keyCount ?? 0)),
      itemCount: sum(snapshots.map(itemCountOf)),
      sizeBytes,
      hasState: coordinator !== undefined || snapshots.some(holdsState),
    });
  };
  for (const vertex of metadata.vertices)
    for (const operatorId of vertex.operatorIds) add(operatorId, vertex);
  for (const { operatorId } of metadata.coordinators)
    if (!operators.has(operatorId)) add(operatorId, null);
  return operators;
}

function partsOf(operatorId: OperatorId, vertex: VertexSnapshot): readonly (StoredPart | null)[] {
  const parts: (StoredPart | null)[] = Array.from({ length: vertex.parallelism }, () => null);
  for (const { subtask, data, operators } of vertex.subtasks) {
    const snapshot = operators.find((operator) => operator.operatorId === operatorId);
    if (snapshot !== undefined) parts[subtask] = { snapshot, data };
  }
  return parts;
}

function holdsState({ keyed, operatorStates }: OperatorSnapshot): boolean {
  return (
    (keyed !== null && keyed.blocks.length + keyed.timers.length > 0) ||
    operatorStates.some(({ items }) => items.length > 0)
  );
}

function itemCountOf({ operatorStates }: OperatorSnapshot): number {
  return sum(operatorStates.map(({ items }) => items.length));
}

function sizeOf({ keyed, operatorStates }: OperatorSnapshot): number {
  const sections = [
    ...(keyed?.blocks ?? []),
    ...(keyed?.timers ?? []),
    ...operatorStates.flatMap(({ items }) => items),
  ];
  return sum(sections.map(({ sizeBytes }) => sizeBytes));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
