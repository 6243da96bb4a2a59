/**
 * What would become of each piece of a snapshot's state if a job were started from it. Starts
 * nothing, changes nothing. What keeps the job from starting is thrown, as a start would.
 */
import type { ConnectorEnvironment } from '../api/source.ts';
import type { JobId } from '../base/ids.ts';
import { describeNode } from '../graph/operator-facts.ts';
import { assignState } from '../protocol/execution/state-assignment.ts';
import type { DroppedState } from '../protocol/execution/state-assignment.ts';
import { storedOperatorsOf } from '../protocol/execution/stored-operators.ts';
import type { SnapshotMetadata } from '../protocol/snapshot.ts';
import type { StoredSnapshot } from '../storage/stored-snapshot.ts';
import { verifySnapshotDeep } from '../storage/verify-snapshot.ts';
import { checkSinks } from './check-sinks.ts';
import type { SinkStanding } from './check-sinks.ts';
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
  /** Items of operator state, such as splits of a source. */
  readonly itemCount: number;
  readonly sizeBytes: number;
  readonly states: readonly StateFinding[];
}

export interface Upgrade {
  /** Of operators that have state, or had. */
  readonly operators: readonly OperatorFate[];
  readonly sinks: readonly SinkStanding[];
}

export interface CheckUpgradeOptions {
  readonly environment: ConnectorEnvironment;
  readonly allowNonRestored: boolean;
  /** The id that the new run will have. */
  readonly jobId: JobId;
}

/** @throws what is wrong with the snapshot, or why it does not fit the job. */
export async function checkUpgrade(
  { environment, allowNonRestored, jobId }: CheckUpgradeOptions,
  restored: StoredSnapshot,
  prepared: PreparedJob,
): Promise<Upgrade> {
  const [damage] = await verifySnapshotDeep(environment, restored);
  if (damage !== undefined) throw damage;
  const { metadata, directory } = restored;
  const assigned = assignState(metadata, prepared.jobGraph, { directory, allowNonRestored });
  const job = { jobGraph: assigned.jobGraph, streamGraph: prepared.streamGraph };
  const options = { sampleMax: SAMPLE_MAX, readsAll: true };
  const findings = await checkStateTypes(environment, restored, job, options);
  const stored = [...assigned.restores.values()];
  return {
    operators: fatesOf(metadata, job, { dropped: assigned.dropped, findings }),
    sinks: await checkSinks({ environment, prepared, jobId, stored }),
  };
}

function fatesOf(
  metadata: SnapshotMetadata,
  { jobGraph, streamGraph }: Pick<PreparedJob, 'jobGraph' | 'streamGraph'>,
  facts: {
    readonly dropped: readonly DroppedState[];
    readonly findings: readonly StateFinding[];
  },
): readonly OperatorFate[] {
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
          itemCount: old?.itemCount ?? 0,
          sizeBytes: old?.sizeBytes ?? 0,
          states: facts.findings.filter((finding) => finding.operator === name),
        },
      ];
    }),
  );
  const gone = facts.dropped.map(
    ({ uid, name, operatorId, keyCount, itemCount, sizeBytes }): OperatorFate => ({
      operator: `"${uid ?? name ?? operatorId}"`,
      fate: 'dropped',
      storedParallelism: stored.get(operatorId)?.vertex?.parallelism ?? null,
      parallelism: null,
      maxParallelism: null,
      keyCount,
      itemCount,
      sizeBytes,
      states: [],
    }),
  );
  return [...kept, ...gone];
}
