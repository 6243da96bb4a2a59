/**
 * Decides which subtask restores what of a snapshot, or that the snapshot does not fit the job.
 * State finds its operator by id, whatever chain or subtask it is in now. Called by the JobMaster
 * before anything is deployed: at the start, and at every failover. Pure; cost is linear in the
 * entries of `_metadata`, times the new parallelism for the key groups.
 */
import { subtaskKey } from '../../base/ids.ts';
import type { OperatorId, SubtaskKey } from '../../base/ids.ts';
import type { JobGraph, JobOperator, JobVertex } from '../job-graph.ts';
import type { OperatorRestore, TaskRestore } from '../messages.ts';
import type { CoordinatorSnapshot, SnapshotMetadata } from '../snapshot.ts';
import {
  droppedText,
  finishedBehindRunningError,
  mixedFinishedError,
  otherJobError,
  otherMaxParallelismError,
  tooFewKeyGroupsError,
  unknownOperatorsError,
} from './assignment-errors.ts';
import { channelPositionsOf } from './channel-positions.ts';
import { finishedSubtasks } from './finished-subtasks.ts';
import { redistribute } from './redistribution.ts';
import { storedOperatorsOf } from './stored-operators.ts';
import type { StoredOperator, StoredOperators } from './stored-operators.ts';
import { subtasksOf } from './subtasks.ts';

export interface StateAssignmentOptions {
  /** Directory against which relative paths of the snapshot are resolved. */
  readonly directory: string;
  /** Drop state whose operator the job no longer has, instead of refusing. */
  readonly allowNonRestored: boolean;
  /** As `TaskRestore.watchesTypes`; by default not. */
  readonly watchesTypes?: boolean;
}

/** State of an operator that the job no longer has. */
export interface DroppedState {
  readonly operatorId: OperatorId;
  readonly uid: string | null;
  readonly name: string | null;
  readonly type: string | null;
  readonly keyCount: number;
  readonly itemCount: number;
  readonly sizeBytes: number;
}

export interface StateAssignment {
  /** By subtask; a subtask that is missing starts empty. */
  readonly restores: ReadonlyMap<SubtaskKey, TaskRestore>;
  /** State of split enumerators by operator. */
  readonly coordinators: ReadonlyMap<OperatorId, CoordinatorSnapshot>;
  /** The job graph with the maximum parallelism that the snapshot demands; same plan hash. */
  readonly jobGraph: JobGraph;
  readonly dropped: readonly DroppedState[];
  /** Sentences for the user: what is dropped. */
  readonly warnings: readonly string[];
}

/** Throws `StateMigrationError` when the snapshot does not fit the job. */
export function assignState(
  metadata: SnapshotMetadata,
  jobGraph: JobGraph,
  options: StateAssignmentOptions,
): StateAssignment {
  const stored = storedOperatorsOf(metadata);
  const operators = jobGraph.vertices.flatMap((vertex) => vertex.operators);
  const known = new Set(operators.map(({ operatorId }) => operatorId));
  const sharesSome = [...stored.keys()].some((id) => known.has(id));
  if (!sharesSome && !options.allowNonRestored) throw otherJobError(metadata, jobGraph);
  const lost = [...stored.values()].filter((it) => it.hasState && !known.has(it.operatorId));
  if (lost.length > 0 && !options.allowNonRestored)
    throw unknownOperatorsError(metadata, lost, (it) => candidatesFor(it, operators, stored));
  const adjusted = withStoredMaxParallelism(jobGraph, stored);
  checkFinished(adjusted, stored);
  return {
    restores: restoresOf(metadata, { jobGraph: adjusted, stored, options }),
    coordinators: new Map(
      metadata.coordinators
        .filter(({ operatorId }) => known.has(operatorId))
        .map((coordinator) => [coordinator.operatorId, coordinator]),
    ),
    jobGraph: adjusted,
    dropped: lost.map(droppedState),
    warnings: lost.map(droppedText),
  };
}

function droppedState(operator: StoredOperator): DroppedState {
  const { operatorId, uid, name, type, keyCount, itemCount, sizeBytes } = operator;
  return { operatorId, uid, name, type, keyCount, itemCount, sizeBytes };
}

/** Operators that are new to the snapshot and of the type of one that lost its place. */
function candidatesFor(
  lost: StoredOperator,
  operators: readonly JobOperator[],
  stored: StoredOperators,
): readonly JobOperator[] {
  const isNew = operators.filter((it) => it.stateful && !stored.has(it.operatorId));
  const ofSameType = isNew.filter(({ type }) => type === lost.type);
  return ofSameType.length > 0 ? ofSameType : isNew;
}

/** Keyed state lies in key groups, whose number a restore cannot change. */
function withStoredMaxParallelism(jobGraph: JobGraph, stored: StoredOperators): JobGraph {
  const vertices = jobGraph.vertices.map((vertex): JobVertex => {
    const [head] = vertex.operators;
    if (head === undefined) return vertex;
    const { vertex: storedVertex = null, parts = [] } = stored.get(head.operatorId) ?? {};
    if (storedVertex === null || storedVertex.fullyFinished) return vertex;
    const hasKeyedState = parts.some((part) => (part?.snapshot.keyed ?? null) !== null);
    if (!hasKeyedState && !isKeyed(jobGraph, vertex, head)) return vertex;
    const { maxParallelism } = storedVertex;
    if (maxParallelism < vertex.parallelism)
      throw tooFewKeyGroupsError(vertex, head, maxParallelism);
    if (maxParallelism === vertex.maxParallelism) return vertex;
    if (vertex.maxParallelismFixed) throw otherMaxParallelismError(vertex, head, maxParallelism);
    return { ...vertex, maxParallelism };
  });
  return { ...jobGraph, vertices };
}

/** A keyed operator stands at the head of its chain, behind an edge that routes by key. */
function isKeyed(jobGraph: JobGraph, vertex: JobVertex, head: JobOperator): boolean {
  return (
    head.stateful &&
    jobGraph.edges.some(({ target, partitioner }) => target === vertex.id && partitioner === 'hash')
  );
}

function checkFinished(jobGraph: JobGraph, stored: StoredOperators): void {
  const finished = new Set<JobVertex>();
  for (const vertex of jobGraph.vertices) {
    const ended = vertex.operators.filter((operator) => hadFullyFinished(operator, stored));
    if (ended.length === 0) continue;
    if (ended.length < vertex.operators.length) throw mixedFinishedError(vertex, ended);
    finished.add(vertex);
  }
  for (const edge of jobGraph.edges) {
    const source = jobGraph.vertices.find(({ id }) => id === edge.source);
    const target = jobGraph.vertices.find(({ id }) => id === edge.target);
    if (source === undefined || target === undefined) continue;
    if (finished.has(target) && !finished.has(source))
      throw finishedBehindRunningError(source, target);
  }
}

function hadFullyFinished({ operatorId }: JobOperator, stored: StoredOperators): boolean {
  return stored.get(operatorId)?.vertex?.fullyFinished ?? false;
}

function restoresOf(
  metadata: SnapshotMetadata,
  {
    jobGraph,
    stored,
    options: { directory, watchesTypes = false },
  }: {
    readonly jobGraph: JobGraph;
    readonly stored: StoredOperators;
    readonly options: StateAssignmentOptions;
  },
): ReadonlyMap<SubtaskKey, TaskRestore> {
  const positions = channelPositionsOf(metadata, jobGraph);
  const operators = operatorRestoresOf(jobGraph, stored);
  const finished = finishedSubtasks(jobGraph, stored);
  const restores = new Map<SubtaskKey, TaskRestore>();
  for (const vertex of jobGraph.vertices) {
    if (!vertex.operators.some(({ operatorId }) => stored.has(operatorId))) continue;
    for (let subtask = 0; subtask < vertex.parallelism; subtask++) {
      const key = subtaskKey(vertex.id, subtask);
      const { inputs = [], outputs = [] } = positions.get(key) ?? {};
      restores.set(key, {
        checkpointId: metadata.checkpointId,
        directory,
        operators: operators.get(key) ?? [],
        inputs,
        outputs,
        finished: finished.has(key),
        ...(watchesTypes ? { watchesTypes } : {}),
      });
    }
  }
  return restores;
}

/** By subtask, the operators that have anything to restore there. */
function operatorRestoresOf(
  jobGraph: JobGraph,
  stored: StoredOperators,
): ReadonlyMap<SubtaskKey, readonly OperatorRestore[]> {
  const restores = new Map<SubtaskKey, OperatorRestore[]>(
    subtasksOf(jobGraph).map(({ vertexId, subtask }) => [subtaskKey(vertexId, subtask), []]),
  );
  for (const vertex of jobGraph.vertices)
    for (const { operatorId } of vertex.operators) {
      const operator = stored.get(operatorId);
      if (operator === undefined) continue;
      for (const [subtask, restore] of redistribute(operator, vertex).entries())
        if (restore.keyed.length > 0 || restore.operatorStates.length > 0)
          restores.get(subtaskKey(vertex.id, subtask))?.push(restore);
    }
  return restores;
}
