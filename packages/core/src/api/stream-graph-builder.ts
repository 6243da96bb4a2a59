/**
 * Collects the nodes and edges that the calls on streams ask for. Owned by one environment; the
 * result is the plain StreamGraph.
 */
import { GraphValidationError } from '../base/errors.ts';
import { graphError } from './function-checks.ts';
import type { CallSite } from './function-checks.ts';
import type { KeySelector, KeyValue } from './functions.ts';
import type {
  OperatorSpec,
  PartitionerSpec,
  StreamEdge,
  StreamGraph,
  StreamNode,
} from './stream-graph.ts';

/** What a stream comes from: an output of a node, and how records leave it. */
export interface Upstream {
  readonly node: StreamNode;
  readonly partitioner: PartitionerSpec | null;
  readonly sideOutput: string | null;
}

/** One input of an operator; several upstreams are a union. */
export interface OperatorInput {
  readonly upstream: readonly Upstream[];
  readonly keySelector: KeySelector<unknown, KeyValue> | null;
}

export interface OperatorRequest {
  readonly at: CallSite;
  readonly name: string;
  readonly spec: OperatorSpec;
  readonly inputs: readonly [] | readonly [OperatorInput] | readonly [OperatorInput, OperatorInput];
}

export class StreamGraphBuilder {
  readonly #jobName: string;
  readonly #nodes: StreamNode[] = [];
  readonly #edges: StreamEdge[] = [];
  #isFinished = false;

  constructor(jobName: string) {
    this.#jobName = jobName;
  }

  addOperator({ at, name, spec, inputs }: OperatorRequest): StreamNode {
    if (this.#isFinished)
      throw graphError(
        at,
        `the graph of job "${this.#jobName}" is complete: ` +
          'add operators only while the function given to job() runs',
      );
    for (const { upstream } of inputs)
      if (upstream.some((one) => this.#nodes[one.node.id] !== one.node))
        throw graphError(at, 'got a stream of another job');
    const node: StreamNode = {
      id: this.#nodes.length,
      spec,
      name,
      uid: null,
      uidHash: null,
      parallelism: null,
      maxParallelism: null,
      chaining: 'always',
      slotSharingGroup: null,
      keySelectors: inputs.map((input) => input.keySelector),
      location: at.location,
    };
    this.#nodes.push(node);
    for (const [index, input] of inputs.entries())
      for (const { node: source, partitioner, sideOutput } of input.upstream)
        this.#edges.push({
          source: source.id,
          target: node.id,
          inputIndex: index === 0 ? 0 : 1,
          partitioner,
          sideOutput,
        });
    return node;
  }

  /** @throws GraphValidationError when there is no operator. */
  finish(): StreamGraph {
    this.#isFinished = true;
    if (this.#nodes.length === 0)
      throw new GraphValidationError(
        `job "${this.#jobName}" has no operators: begin with env.fromSource(…)`,
      );
    return { jobName: this.#jobName, nodes: this.#nodes, edges: this.#edges };
  }
}
