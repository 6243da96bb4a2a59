/**
 * What would become of each piece of a snapshot's state if a job were started from it. Starts
 * nothing, changes nothing. What keeps the job from starting is thrown, as a start would.
 */
import { describeNode } from '../graph/operator-facts.ts';
import { assignState } from '../protocol/execution/state-assignment.ts';
import { storedOperatorsOf } from '../protocol/execution/stored-operators.ts';
import type { StorageIo } from '../storage/storage-io.ts';
import type { StoredSnapshot } from '../storage/stored-snapshot.ts';
import { verifySnapshotDeep } from '../storage/verify-snapshot.ts';
import { checkStateTypes } from './check-state-types.ts';
import type { StateFinding } from './check-state-types.ts';
import type { PreparedJob } from './prepare-run.ts';

/** Keys of each operator and subtask that are really read. */
const SAMPLE_MAX = 10_000;

export interface OperatorFate {
  /** `"totals" (orders.ts:14)`; of one that is gone, as the snapshot names it. */
  readonly operator: string;
  /** `new`: it starts empty. */
  readonly fate: 'restored' | 'new' | 'dropped';
  /** `null` for one that is new. */
  readonly storedParallelism: number | null;
  /** `null` for one that is gone. */
  readonly parallelism: number | null;
  readonly maxParallelism: number | null;
  readonly keyCount: number;
  readonly sizeBytes: number;
  readonly states: readonly StateFinding[];
}

/** Of operators that have state, or had. */
export async function checkUpgrade(
  io: StorageIo,
  restored: StoredSnapshot,
  prepared: PreparedJob,
  allowNonRestored: boolean,
): Promise<readonly OperatorFate[]> {
  const [damage] = await verifySnapshotDeep(io, restored);
  if (damage !== undefined) throw damage;
  const { metadata, directory } = restored;
  const { streamGraph } = prepared;
  const { jobGraph, dropped } = assignState(metadata, prepared.jobGraph, {
    directory,
    allowNonRestored,
  });
  const options = { sampleMax: SAMPLE_MAX, readsAll: true };
  const findings = await checkStateTypes(io, restored, { jobGraph, streamGraph }, options);
  const stored = storedOperatorsOf(metadata);
  const kept = jobGraph.vertices.flatMap((vertex) =>
    vertex.operators.flatMap((operator): OperatorFate[] => {
      const old = stored.get(operator.operatorId);
      if (!operator.stateful && old?.hasState !== true) return [];
      const node = streamGraph.nodes.find(({ id }) => id === operator.node);
      const name = node === undefined ? operator.name : describeNode(node);
      return [
        {
          operator: name,
          fate: old === undefined ? 'new' : 'restored',
          storedParallelism: old?.vertex?.parallelism ?? null,
          parallelism: vertex.parallelism,
          maxParallelism: vertex.maxParallelism,
          keyCount: old?.keyCount ?? 0,
          sizeBytes: old?.sizeBytes ?? 0,
          states: findings.filter((finding) => finding.operator === name),
        },
      ];
    }),
  );
  const gone = dropped.map(({ uid, name, operatorId, keyCount, sizeBytes }): OperatorFate => ({
    operator: `"${uid ?? name ?? operatorId}"`,
    fate: 'dropped',
    storedParallelism: stored.get(operatorId)?.vertex?.parallelism ?? null,
    parallelism: null,
    maxParallelism: null,
    keyCount,
    sizeBytes,
    states: [],
  }));
  return [...kept, ...gone];
}
