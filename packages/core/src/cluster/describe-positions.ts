/** Where the sources of a snapshot go on, in words: part of the first line of a run. */
import type { OperatorListState } from '../api/state.ts';
import type { StorageIo } from '../storage/storage-io.ts';
import type { StoredSnapshot } from '../storage/stored-snapshot.ts';
import { OperatorStateBackend } from '../state/operator/operator-state-backend.ts';
import { restoreOperatorState } from '../state/snapshot/restore.ts';
import { SPLITS_STATE } from '../taskmanager/operators/source.ts';
import type { PreparedJob } from '../jobmanager/prepare-run.ts';

const POSITIONS_MAX = 4;

/** `; orders at lines.txt byte 4711`, or nothing when the snapshot holds no positions. */
export async function describePositions(
  io: StorageIo,
  { metadata, directory }: StoredSnapshot,
  prepared: PreparedJob,
): Promise<string> {
  const parts: string[] = [];
  for (const vertex of prepared.jobGraph.vertices) {
    const operator = vertex.operators[0];
    const spec = prepared.streamGraph.nodes.find((node) => node.id === operator?.node)?.spec;
    if (operator === undefined || spec?.type !== 'source') continue;
    const stored = metadata.vertices.find((it) => it.operatorIds.includes(operator.operatorId));
    const positions: string[] = [];
    for (const subtask of stored?.subtasks ?? []) {
      const state = subtask.operators
        .find((it) => it.operatorId === operator.operatorId)
        ?.operatorStates.find((it) => it.name === SPLITS_STATE);
      const { data } = subtask;
      if (state === undefined || data === null) continue;
      const backend = new OperatorStateBackend({ operatorName: '', subtask: 0, parallelism: 1 });
      const declaration = { [SPLITS_STATE]: { kind: 'operatorList', mode: 'list' } } as const;
      const list = backend.handlesFor(declaration)[SPLITS_STATE] as OperatorListState<unknown>;
      const items = state.items.map((section) => ({ data, section }));
      await restoreOperatorState({ ...io, directory }, backend, [{ ...state, items }]);
      for (const split of list.get())
        positions.push(spec.source.describeSplit?.(split) ?? 'a split');
    }
    const name = operator.uid ?? operator.name;
    if (stored?.fullyFinished === true) parts.push(`${name} has ended`);
    else if (positions.length > 0) parts.push(`${name} at ${shorten(positions)}`);
  }
  return parts.length === 0 ? '' : `; ${parts.join('; ')}`;
}

function shorten(positions: readonly string[]): string {
  if (positions.length <= POSITIONS_MAX) return positions.join(', ');
  const rest = positions.length - POSITIONS_MAX;
  return `${positions.slice(0, POSITIONS_MAX).join(', ')} and ${rest} more`;
}
