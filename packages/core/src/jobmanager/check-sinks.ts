/**
 * How far the sinks of a job are in comparison with a snapshot: whether what the snapshot promises
 * is published, can still be, and whether more than that was published since. Asks the outer
 * systems and changes nothing. Called by `weir check-upgrade`, and before a start from a snapshot.
 */
import type { CommittableStatus } from '../api/sink.ts';
import type { ConnectorEnvironment } from '../api/source.ts';
import type { ErrorInfo } from '../base/errors.ts';
import { toErrorInfo } from '../base/errors.ts';
import type { JobId } from '../base/ids.ts';
import { describeNode } from '../graph/operator-facts.ts';
import type { TaskRestore } from '../protocol/messages.ts';
import { allowsOlder } from './job-settings.ts';
import type { PreparedJob } from './prepare-run.ts';
import { COMMITTABLES_STATE, readItems, sinksOf, WRITER_STATE } from './sink-recovery.ts';
import type { SinkPlace } from './sink-recovery.ts';

export interface SinkStanding {
  /** `"out" (orders.ts:14)`. */
  readonly sink: string;
  /** `false`: it commits nothing, so nobody can tell what it has written since. */
  readonly commits: boolean;
  /** Whether what it writes twice does harm. */
  readonly isIdempotent: boolean;
  /** What the snapshot promises to commit, by what became of it. */
  readonly promised: Readonly<Record<CommittableStatus, number>>;
  /** What would keep the start from going well, such as SINK_AHEAD; `null`: nothing. */
  readonly obstacle: ErrorInfo | null;
}

export interface CheckSinksOptions {
  readonly environment: ConnectorEnvironment;
  readonly prepared: Pick<PreparedJob, 'jobGraph' | 'streamGraph' | 'configuration'>;
  /** The id that the new run will have: it decides whose output a sink looks at. */
  readonly jobId: JobId;
  readonly stored: readonly TaskRestore[];
}

export async function checkSinks(options: CheckSinksOptions): Promise<readonly SinkStanding[]> {
  const standings: SinkStanding[] = [];
  for (const place of sinksOf(options.prepared)) standings.push(await standingOf(place, options));
  return standings;
}

async function standingOf(
  { sink, operatorId }: SinkPlace,
  { environment, prepared, jobId, stored }: CheckSinksOptions,
): Promise<SinkStanding> {
  const node = prepared.streamGraph.nodes.find(
    ({ spec }) => spec.type === 'sink' && spec.sink === sink,
  );
  const promised = { pending: 0, committed: 0, gone: 0 };
  const standing = {
    sink: node === undefined ? sink.name : describeNode(node),
    isIdempotent: sink.write === 'idempotent',
    promised,
  };
  const committer = sink.createCommitter?.({ ...environment, jobId, operatorId });
  if (committer === undefined) return { ...standing, commits: false, obstacle: null };
  const read = (name: string): Promise<unknown[]> =>
    readItems(environment, { stored, operatorId, name });
  try {
    const committables = await read(COMMITTABLES_STATE);
    for (const committable of committables) promised[await committer.probe(committable)]++;
    await committer.check?.({
      committables,
      writerStates: await read(WRITER_STATE),
      attempt: { epoch: 0, counter: 0 },
      subtasks: 'all',
      allowOlder: allowsOlder(prepared.configuration),
    });
    return { ...standing, commits: true, obstacle: null };
  } catch (error) {
    return { ...standing, commits: true, obstacle: toErrorInfo(error) };
  } finally {
    await committer.close();
  }
}
