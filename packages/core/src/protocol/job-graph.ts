/**
 * The JobGraph: chains of operators (vertices) and the edges between them, as plain data without
 * user functions, so that it can be a message, be hashed, and be shown.
 */
import type { OperatorId, VertexId } from '../base/ids.ts';

export type PartitionerType =
  | 'forward'
  | 'rebalance'
  | 'rescale'
  | 'shuffle'
  | 'broadcast'
  | 'global'
  | 'hash'
  | 'custom';

/** An operator's place in a chain. `node` is the id of the StreamNode with the functions. */
export interface JobOperator {
  readonly operatorId: OperatorId;
  readonly node: number;
  readonly type: string;
  readonly name: string;
  readonly uid: string | null;
  /** Has state that must find its operator again, so it ought to have a uid. */
  readonly stateful: boolean;
  readonly location: string | null;
  /** Operators of the same chain fed by this one; indexes into `JobVertex.operators`. */
  readonly chainedTo: readonly { readonly operator: number; readonly sideOutput: string | null }[];
}

export interface JobVertex {
  readonly id: VertexId;
  /** Names of the chained operators joined by ` -> `. */
  readonly name: string;
  /** For reports: as the name, with uids for operators that nobody named; absent: the name. */
  readonly label?: string;
  readonly parallelism: number;
  readonly maxParallelism: number;
  /** Whether `maxParallelism` was set by the user, so that it may not follow a snapshot. */
  readonly maxParallelismFixed: boolean;
  readonly slotSharingGroup: string;
  /** Head first; the head is the only one with inputs from other vertices. */
  readonly operators: readonly JobOperator[];
}

export interface JobEdge {
  /** Place in `JobGraph.edges`. */
  readonly index: number;
  readonly source: VertexId;
  /** Index of the emitting operator in the source vertex. */
  readonly sourceOperator: number;
  readonly sideOutput: string | null;
  readonly target: VertexId;
  readonly inputIndex: 0 | 1;
  readonly partitioner: PartitionerType;
  /** Node ids of the StreamEdge, to find its functions again. */
  readonly sourceNode: number;
  readonly targetNode: number;
}

export interface JobGraph {
  readonly jobName: string;
  /** In topological order. */
  readonly vertices: readonly JobVertex[];
  readonly edges: readonly JobEdge[];
  /** Equal for equal plans: every thread and process proves that it built the same graph. */
  readonly planHash: string;
  /** Equal for equal code of the job, functions and all; absent: not known. */
  readonly codeHash?: string;
}

/** Whether subtask `i` of the source feeds only some subtasks of the target. */
export function isPointwise(partitioner: PartitionerType): boolean {
  return partitioner === 'forward' || partitioner === 'rescale';
}
