/**
 * What an operator does when records are replayed after a failure:
 *
 * - `deterministic`: the same records in the same order give the same results;
 * - `order-dependent`: it has state, and its records come over several channels, whose interleaving
 *   may differ;
 * - `undetermined`: what it emits may depend on more than its input: timers may be of processing
 *   time.
 */
import type { StreamGraph, StreamNode } from '../api/stream-graph.ts';
import { isStateful, statesOf } from './operator-facts.ts';
import type { StateKind } from './operator-facts.ts';

export type ReplayBehaviour = 'deterministic' | 'order-dependent' | 'undetermined';

export interface OperatorReplay {
  readonly node: StreamNode;
  readonly behaviour: ReplayBehaviour;
  readonly isStateful: boolean;
  /** Emits what earlier records left in its state: after a restore once more. */
  readonly emitsHeld: boolean;
  /** Has state of other kinds, in which records may lie that it emits later. */
  readonly mayHold: boolean;
}

/**
 * The operators between a source and a sink, in the order of the graph; neither end is among them.
 */
export function operatorsBetween(
  graph: StreamGraph,
  source: StreamNode,
  sink: StreamNode,
  defaultParallelism: number,
): readonly OperatorReplay[] {
  const after = reach(graph, source.id, 'down');
  const before = reach(graph, sink.id, 'up');
  return graph.nodes
    .filter((node) => after.has(node.id) && before.has(node.id))
    .filter((node) => node !== source && node !== sink)
    .map((node) => replayOf(graph, node, defaultParallelism));
}

export function reach(
  graph: StreamGraph,
  from: number,
  direction: 'up' | 'down',
): ReadonlySet<number> {
  const reached = new Set<number>();
  const queue = [from];
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    if (reached.has(id)) continue;
    reached.add(id);
    for (const edge of graph.edges)
      if (direction === 'down' && edge.source === id) queue.push(edge.target);
      else if (direction === 'up' && edge.target === id) queue.push(edge.source);
  }
  return reached;
}

function replayOf(graph: StreamGraph, node: StreamNode, parallelism: number): OperatorReplay {
  const kinds = statesOf(node.spec).map(({ kind }) => kind);
  const hasTimers = kinds.includes('timers');
  const isRolling = node.spec.type === 'keyedReduce' || node.spec.type === 'keyedAggregate';
  const emitsHeld = kinds.some((kind) => HOLDING.has(kind));
  const mayHold = !isRolling && kinds.some((kind) => kind !== 'broadcast');
  const stateful = isStateful(node.spec);
  const isOrdered = !stateful || !hasSeveralChannels(graph, node, parallelism);
  const ordered = isOrdered ? 'deterministic' : 'order-dependent';
  const behaviour = hasTimers ? 'undetermined' : ordered;
  return { node, behaviour, isStateful: stateful, emitsHeld, mayHold };
}

/** Records lie in a list until another record, a timer or the end of the input brings them out. */
const HOLDING: ReadonlySet<StateKind> = new Set(['timers', 'list', 'operator list', 'union list']);

/** Whether records that meet in one subtask have come over more than one channel or split. */
function hasSeveralChannels(graph: StreamGraph, node: StreamNode, parallelism: number): boolean {
  const inputs = graph.edges.filter((edge) => edge.target === node.id);
  if (inputs.length > 1) return true;
  const [input] = inputs;
  if (input === undefined) return false;
  const from = graph.nodes.find((it) => it.id === input.source);
  if (from === undefined) return false;
  // A source may read several splits by turns.
  if (from.spec.type === 'source') return true;
  const isForward = input.partitioner === null || input.partitioner.type === 'forward';
  if (!isForward && (from.parallelism ?? parallelism) > 1) return true;
  return hasSeveralChannels(graph, from, parallelism);
}
