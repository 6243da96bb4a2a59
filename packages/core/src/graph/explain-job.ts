/**
 * What `weir explain` knows of a compiled job, as plain data: for `--json`, and for the text that
 * `explain.ts` makes of it. Vertices are numbered from 1 for people.
 */
import type { StreamGraph } from '../api/stream-graph.ts';
import { assert } from '../base/assert.ts';
import type { JobEdge, JobOperator, PartitionerType } from '../protocol/job-graph.ts';
import { slotLayoutOf } from '../protocol/slots/slot-layout.ts';
import type { CompiledJob } from './compile-job-graph.ts';
import { isKeyed, statesOf } from './operator-facts.ts';
import type { DeclaredState } from './operator-facts.ts';

export interface ExplainedJob {
  readonly jobName: string;
  readonly planHash: string;
  readonly slots: number;
  readonly vertices: readonly ExplainedVertex[];
  readonly warnings: readonly string[];
}

export interface ExplainedVertex {
  readonly number: number;
  readonly id: string;
  readonly name: string;
  readonly parallelism: number;
  readonly maxParallelism: number;
  /** Its head works on keys, so the maximum parallelism is a limit. */
  readonly keyed: boolean;
  readonly slotSharingGroup: string;
  readonly operators: readonly ExplainedOperator[];
  readonly outputs: readonly ExplainedOutput[];
}

export interface ExplainedOperator extends Pick<
  JobOperator,
  'operatorId' | 'type' | 'name' | 'uid' | 'stateful' | 'location'
> {
  readonly states: readonly DeclaredState[];
  /** Place of the operator that feeds it within the chain; `null` for the head. */
  readonly chainedBehind: number | null;
  /** The side output it reads of that; `null`: the main output. */
  readonly sideOutput: string | null;
}

/** An edge to another vertex. */
export interface ExplainedOutput {
  /** Place of the emitting operator in the chain. */
  readonly operator: number;
  readonly sideOutput: string | null;
  readonly partitioner: PartitionerType;
  /** Number of the target vertex. */
  readonly target: number;
  readonly targetName: string;
  readonly inputIndex: 0 | 1;
}

export function explainJob(compiled: CompiledJob, streamGraph: StreamGraph): ExplainedJob {
  const { jobGraph, warnings } = compiled;
  const specs = new Map(streamGraph.nodes.map(({ id, spec }) => [id, spec]));
  const specOf = ({ node, name }: JobOperator): StreamGraph['nodes'][number]['spec'] => {
    const spec = specs.get(node);
    assert(spec !== undefined, `operator "${name}" is not in the stream graph`);
    return spec;
  };
  return {
    jobName: jobGraph.jobName,
    planHash: jobGraph.planHash,
    slots: slotLayoutOf(jobGraph).slotCount,
    vertices: jobGraph.vertices.map((vertex, index) => ({
      number: index + 1,
      id: vertex.id,
      name: vertex.name,
      parallelism: vertex.parallelism,
      maxParallelism: vertex.maxParallelism,
      keyed: vertex.operators.some((operator) => isKeyed(specOf(operator))),
      slotSharingGroup: vertex.slotSharingGroup,
      operators: vertex.operators.map((operator, place) => ({
        ...explainOperator(operator, statesOf(specOf(operator))),
        ...chainLinkOf(place, vertex.operators),
      })),
      outputs: jobGraph.edges
        .filter(({ source }) => source === vertex.id)
        .map((edge) => explainOutput(edge, compiled)),
    })),
    warnings,
  };
}

function explainOperator(
  { operatorId, type, name, uid, stateful, location }: JobOperator,
  states: readonly DeclaredState[],
): Omit<ExplainedOperator, 'chainedBehind' | 'sideOutput'> {
  return { operatorId, type, name, uid, stateful, location, states };
}

function chainLinkOf(
  place: number,
  operators: readonly JobOperator[],
): Pick<ExplainedOperator, 'chainedBehind' | 'sideOutput'> {
  for (const [index, { chainedTo }] of operators.entries()) {
    const link = chainedTo.find(({ operator }) => operator === place);
    if (link !== undefined) return { chainedBehind: index, sideOutput: link.sideOutput };
  }
  return { chainedBehind: null, sideOutput: null };
}

function explainOutput(edge: JobEdge, { jobGraph }: CompiledJob): ExplainedOutput {
  const target = jobGraph.vertices.findIndex(({ id }) => id === edge.target);
  return {
    operator: edge.sourceOperator,
    sideOutput: edge.sideOutput,
    partitioner: edge.partitioner,
    target: target + 1,
    targetName: jobGraph.vertices[target]?.operators[0]?.name ?? '',
    inputIndex: edge.inputIndex,
  };
}
