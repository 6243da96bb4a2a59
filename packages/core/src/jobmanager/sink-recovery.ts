/**
 * Before the writers of a sink start: publishes what the restored snapshot promised and removes
 * what older attempts left behind, once per sink, on the JobManager (api/sink.ts says what and
 * why).
 */
import type { Sink } from '../api/sink.ts';
import type { StreamGraph } from '../api/stream-graph.ts';
import type { ConnectorEnvironment } from '../api/source.ts';
import type { Attempt, ExecutionRef, JobId, OperatorId, SubtaskKey } from '../base/ids.ts';
import { assert } from '../base/assert.ts';
import { isSameAttempt, subtaskKey } from '../base/ids.ts';
import { named } from '../base/name-error.ts';
import type { JobGraph } from '../protocol/job-graph.ts';
import type { TaskRestore } from '../protocol/messages.ts';
import type { OperatorListState } from '../api/state.ts';
import { OperatorStateBackend } from '../state/operator/operator-state-backend.ts';
import { restoreOperatorState } from '../state/snapshot/restore.ts';

/** Names of a sink's states; the task writes them (taskmanager/operators/sink.ts). */
export const WRITER_STATE = 'writer';
export const COMMITTABLES_STATE = 'committables';

export interface SinkRecoveryOptions {
  readonly environment: ConnectorEnvironment;
  readonly jobId: JobId;
  readonly jobGraph: JobGraph;
  readonly streamGraph: StreamGraph;
  readonly allowOlder: boolean;
}

/** Recovers every sink of which a subtask is among the executions about to be deployed. */
export async function recoverSinks(
  options: SinkRecoveryOptions,
  executions: readonly ExecutionRef[],
  restores: ReadonlyMap<SubtaskKey, TaskRestore>,
): Promise<void> {
  for (const { vertexId, operatorId, sink, parallelism, uid } of sinksOf(options)) {
    const mine = executions.filter((execution) => execution.vertexId === vertexId);
    if (mine.length === 0 || sink.createCommitter === undefined) continue;
    const { environment, jobId } = options;
    const committer = sink.createCommitter({ ...environment, jobId, operatorId });
    try {
      const stored = mine.map((execution) =>
        restores.get(subtaskKey(execution.vertexId, execution.subtask)),
      );
      const read = (name: string): Promise<unknown[]> =>
        readItems(environment, { stored, operatorId, name });
      await committer.recover({
        committables: await read(COMMITTABLES_STATE),
        writerStates: await read(WRITER_STATE),
        attempt: attemptOf(mine),
        subtasks: mine.length === parallelism ? 'all' : mine.map((execution) => execution.subtask),
        allowOlder: options.allowOlder,
      });
    } catch (error) {
      throw named(`sink ${uid ?? sink.name}`, error);
    } finally {
      await committer.close();
    }
  }
}

/** A sink of the job with where it stands. */
export interface SinkPlace {
  readonly vertexId: ExecutionRef['vertexId'];
  readonly parallelism: number;
  readonly operatorId: OperatorId;
  readonly sink: Sink<unknown>;
  readonly uid: string | null;
}

export function sinksOf({
  jobGraph,
  streamGraph,
}: Pick<SinkRecoveryOptions, 'jobGraph' | 'streamGraph'>): readonly SinkPlace[] {
  return jobGraph.vertices.flatMap((vertex) =>
    vertex.operators.flatMap((operator): SinkPlace[] => {
      const spec = streamGraph.nodes.find((node) => node.id === operator.node)?.spec;
      if (spec?.type !== 'sink') return [];
      return [
        {
          vertexId: vertex.id,
          parallelism: vertex.parallelism,
          operatorId: operator.operatorId,
          sink: spec.sink,
          uid: operator.uid,
        },
      ];
    }),
  );
}

/** The items of one operator state of a sink, of all the subtasks given. */
export async function readItems(
  environment: Pick<ConnectorEnvironment, 'fileSystem' | 'clock'>,
  wanted: {
    readonly stored: readonly (TaskRestore | undefined)[];
    readonly operatorId: OperatorId;
    readonly name: string;
  },
): Promise<unknown[]> {
  const { name } = wanted;
  const values: unknown[] = [];
  for (const restore of wanted.stored) {
    const operator = restore?.operators.find((it) => it.operatorId === wanted.operatorId);
    const state = operator?.operatorStates.find((it) => it.name === name);
    if (restore === undefined || state === undefined) continue;
    const place = {
      fileSystem: environment.fileSystem,
      clock: environment.clock,
      directory: restore.directory,
    };
    const backend = new OperatorStateBackend({ operatorName: name, subtask: 0, parallelism: 1 });
    const declaration = { [name]: { kind: 'operatorList', mode: 'list' } } as const;
    const list = backend.handlesFor(declaration)[name] as OperatorListState<unknown>;
    await restoreOperatorState(place, backend, [state]);
    values.push(...list.get());
  }
  return values;
}

/** All executions of a wave carry its number, so every lower attempt of any of them is dead. */
function attemptOf(executions: readonly ExecutionRef[]): Attempt {
  const [first] = executions;
  assert(first !== undefined, 'a wave has at least one execution');
  const isOne = executions.every(({ attempt }) => isSameAttempt(attempt, first.attempt));
  assert(isOne, 'executions that are deployed together have one attempt');
  return first.attempt;
}
