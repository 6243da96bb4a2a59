/** Settings of one operator, as the methods of streams and sinks apply them. */
import { graphError } from './function-checks.ts';
import type { StreamNode } from './stream-graph.ts';

/** 2^15, Flink's upper bound of key groups. */
const PARALLELISM_MAX = 32_768;

export function setText(
  node: StreamNode,
  field: 'name' | 'uid' | 'slotSharingGroup',
  text: string,
): void {
  if (typeof text !== 'string' || text.trim() === '')
    throw settingError(node, `${field}: expected a text that is not empty`);
  node[field] = text;
  if (field === 'name') node.isNamed = true;
}

export function setUidHash(node: StreamNode, uidHash: string): void {
  if (!/^[0-9a-fA-F]{32}$/.test(uidHash))
    throw settingError(node, `setUidHash: "${uidHash}" is not 32 hexadecimal digits`);
  node.uidHash = uidHash.toLowerCase();
}

export function setParallelism(
  node: StreamNode,
  field: 'parallelism' | 'maxParallelism',
  count: number,
): void {
  if (!Number.isInteger(count) || count < 1 || count > PARALLELISM_MAX)
    throw settingError(
      node,
      `${field}: ${count} is not a whole number from 1 to ${PARALLELISM_MAX}`,
    );
  node[field] = count;
}

function settingError(node: StreamNode, message: string): Error {
  return graphError({ operator: node.name, location: node.location }, message);
}
