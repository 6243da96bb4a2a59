/** Stream graphs for tests: nodes by name in the order of the calls, edges as `from -> to`. */
import type { Sink } from '../api/sink.ts';
import type { Source } from '../api/source.ts';
import type { StateDeclaration } from '../api/state.ts';
import type {
  OperatorSpec,
  PartitionerSpec,
  StreamEdge,
  StreamGraph,
  StreamNode,
} from '../api/stream-graph.ts';

/** Settings of a node; what is missing is as if the user had set nothing, but for the uid. */
export interface NodeFixture extends Partial<Omit<StreamNode, 'id' | 'spec' | 'name'>> {
  readonly spec: OperatorSpec;
}

export interface EdgeFixture {
  readonly partitioner?: PartitionerSpec['type'];
  readonly sideOutput?: string;
  readonly inputIndex?: 0 | 1;
}

// None of the methods is called while a graph is compiled.
export const source: NodeFixture = {
  spec: {
    type: 'source',
    source: { name: 'source', boundedness: 'bounded', replay: 'offsets' } as Source<unknown>,
    watermarks: { kind: 'none', outOfOrdernessMs: 0, idlenessMs: null },
  },
};
export const map: NodeFixture = { spec: { type: 'map', fn: { map: (value) => value } } };
export const sink: NodeFixture = {
  spec: { type: 'sink', sink: { name: 'print', write: 'plain' } as Sink<unknown> },
};
export const committingSink: NodeFixture = {
  spec: { type: 'sink', sink: { name: 'files', write: 'two-phase-commit' } as Sink<unknown> },
};

export function keyed(state: StateDeclaration = {}): NodeFixture {
  const fn = { state, onElement: () => undefined, onTimer: () => undefined };
  return { spec: { type: 'keyedProcess', fn } };
}

/** The n-th node stands at `job.ts:n` and has its name as uid, unless it says otherwise. */
export function streamGraphOf(
  nodes: Readonly<Record<string, NodeFixture>>,
  edges: Readonly<Record<string, EdgeFixture | null>>,
): StreamGraph {
  const names = Object.keys(nodes);
  return {
    jobName: 'orders',
    nodes: Object.entries(nodes).map(([name, { spec, ...settings }], id) => ({
      id,
      spec,
      name,
      uid: name,
      uidHash: null,
      parallelism: null,
      maxParallelism: null,
      chaining: 'always',
      slotSharingGroup: null,
      keySelectors: [],
      location: `job.ts:${id + 1}`,
      ...settings,
    })),
    edges: Object.entries(edges).map(([ends, edge]): StreamEdge => {
      const [from = '', to = ''] = ends.split(' -> ');
      return {
        source: names.indexOf(from),
        target: names.indexOf(to),
        inputIndex: edge?.inputIndex ?? 0,
        partitioner: partitionerOf(edge?.partitioner),
        sideOutput: edge?.sideOutput ?? null,
      };
    }),
  };
}

function partitionerOf(type: PartitionerSpec['type'] | undefined): PartitionerSpec | null {
  if (type === undefined) return null;
  if (type === 'hash') return { type, keySelector: String };
  if (type === 'custom') return { type, partitioner: () => 0, keySelector: String };
  return { type };
}
