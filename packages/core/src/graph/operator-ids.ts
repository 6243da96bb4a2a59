/**
 * Ids by which state finds its operator again: the hash of the uid, as in Flink; an id given
 * outright wins. Without a uid, the hash of the operator's place: its type, its inputs, and how
 * they are partitioned. Unlike Flink, neither chaining nor the order of unrelated operators counts,
 * so another parallelism, or a branch added elsewhere, leaves the id as it is.
 */
import type { StreamNode } from '../api/stream-graph.ts';
import { GraphValidationError } from '../base/errors.ts';
import type { OperatorId } from '../base/ids.ts';
import { murmur128 } from '../base/murmur.ts';
import { describeNode } from './operator-facts.ts';
import type { ResolvedGraph, ResolvedNode } from './resolve-graph.ts';

/** By node id. Throws `GraphValidationError` with code UID_DUPLICATE. */
export function operatorIdsOf(resolved: ResolvedGraph): ReadonlyMap<number, OperatorId> {
  const ids = new Map<number, OperatorId>();
  const owners = new Map<OperatorId, StreamNode>();
  const twins = new Map<string, number>();
  for (const operator of resolved.values()) {
    const { node } = operator;
    const id = (node.uidHash ?? murmur128(node.uid ?? placeOf(operator, ids, twins))) as OperatorId;
    const owner = owners.get(id);
    if (owner !== undefined) throw duplicateError(owner, node);
    owners.set(id, node);
    ids.set(node.id, id);
  }
  return ids;
}

/** Describes where an operator stands; operators in like places are told apart by a number. */
function placeOf(
  { node, inputs }: ResolvedNode,
  ids: ReadonlyMap<number, OperatorId>,
  twins: Map<string, number>,
): string {
  const inputPlaces = inputs.map(({ edge }) => [
    ids.get(edge.source),
    edge.inputIndex,
    edge.sideOutput,
    // As written: what `null` becomes depends on the parallelism.
    edge.partitioner?.type ?? null,
  ]);
  const place = JSON.stringify(['operator', node.spec.type, inputPlaces]);
  const twin = twins.get(place) ?? 0;
  twins.set(place, twin + 1);
  return `${place} ${twin}`;
}

function duplicateError(first: StreamNode, second: StreamNode): GraphValidationError {
  const id = second.uid === null ? 'operator id' : `uid ${JSON.stringify(second.uid)}`;
  const names = [first, second].map(({ name, location }) =>
    describeNode({ ...second, uid: null, name, location }),
  );
  return new GraphValidationError(
    `the operators ${names.join(' and ')} have the same ${id}: state finds its operator by it, ` +
      'so give each its own',
    {
      code: 'UID_DUPLICATE',
      details: { uid: second.uid, locations: [first.location, second.location] },
    },
  );
}
