/** For the tests of chains: operators in a tree, and what leaves it over their edges. */
import type { OperatorSpec, StreamNode } from '../../api/stream-graph.ts';
import { messageOf } from '../../base/errors.ts';
import type { OperatorId, VertexId } from '../../base/ids.ts';
import type { JobEdge, JobOperator, JobVertex } from '../../protocol/job-graph.ts';
import { createOperator } from '../operators/create-operator.ts';
import { operatorFixture, recordingOutput } from '../operators/operator-fixture.ts';
import type { Emitted } from '../operators/operator-fixture.ts';
import { OperatorChain } from './operator-chain.ts';

/** An operator and what it is chained to; the first is the head, and the others stand behind it. */
export interface Link {
  readonly spec: OperatorSpec;
  /** Index of the operator before it, and of which side output; without meaning for the head. */
  readonly behind: number;
  readonly sideOutput?: string | null;
  /** Of which outputs records leave the chain. */
  readonly edges?: readonly (string | null)[];
}

export interface TestChain {
  readonly chain: OperatorChain;
  /** What left the chain, whatever the edge. */
  readonly emitted: Emitted[];
  /** What the task was failed with. */
  readonly failures: string[];
  /** Hands over records at these times; gives what was thrown. */
  readonly run: (values: readonly unknown[], timestamps?: Float64Array) => string | null;
  /** Between two steps of the task; gives the operator that was active. */
  readonly rest: () => number;
}

/** One behind the other, with an edge at the end. */
export function inARow(specs: readonly OperatorSpec[]): readonly Link[] {
  const last = specs.length - 1;
  return specs.map((spec, index) => ({
    spec,
    behind: index - 1,
    edges: index === last ? [null] : [],
  }));
}

/** Keys are the records themselves, or their field `key`. */
export async function chainOf(isGenerated: boolean, links: readonly Link[]): Promise<TestChain> {
  const emitted: Emitted[] = [];
  const failures: string[] = [];
  const operators = links.map((link, index) => jobOperator(link, index, links));
  const edges = links.flatMap((link, index) =>
    (link.edges ?? []).map((sideOutput) => ({
      edge: { index: 0, sourceOperator: index, sideOutput } as JobEdge,
      output: recordingOutput(emitted),
    })),
  );
  const { active } = operatorFixture().context;
  const chain = new OperatorChain({
    vertex: { id: 'v' as VertexId, name: 'v', operators } as unknown as JobVertex,
    edges,
    isGenerated,
    make: (index, output, sideOutput) => {
      const node = { spec: links[index]?.spec, keySelectors: [keyOf] };
      const { context } = operatorFixture({
        operator: operators[index] as JobOperator,
        sideOutput,
        keySelectors: [keyOf],
        active,
        fail: (error) => void failures.push(messageOf(error)),
      });
      return createOperator(node as unknown as StreamNode, { ...context, output });
    },
  });
  for (const operator of chain.operators) await operator.open();
  return {
    chain,
    emitted,
    failures,
    run(values, timestamps) {
      try {
        chain.runOf(0)(values, timestamps ?? null, 0, values.length);
        return null;
      } catch (error) {
        return messageOf(error);
      }
    },
    rest() {
      const [operator = 0] = active.cells;
      chain.leaveKeys();
      active.tick();
      return operator;
    },
  };
}

function keyOf(value: unknown): number {
  const isRecord = typeof value === 'object' && value !== null && 'key' in value;
  return (isRecord ? value.key : value) as number;
}

function jobOperator({ spec }: Link, index: number, links: readonly Link[]): JobOperator {
  return {
    operatorId: `${index}`.padStart(32, '0') as OperatorId,
    node: index,
    type: spec.type,
    name: spec.type,
    uid: null,
    stateful: false,
    location: `job.ts:${index + 1}`,
    chainedTo: links.flatMap(({ behind, sideOutput = null }, operator) =>
      operator > 0 && behind === index ? [{ operator, sideOutput }] : [],
    ),
  };
}
