/**
 * Snapshots for tests, as the job of a fixture graph would have taken them: aligned, every channel
 * at a mark of its own. List items are letters, whose code is the offset of their section.
 */
import { keyGroupRange } from '../../base/key-groups.ts';
import { subtaskKey } from '../../base/ids.ts';
import type { JobGraph, JobOperator, JobVertex } from '../job-graph.ts';
import type { OperatorRestore } from '../messages.ts';
import type {
  OperatorSnapshot,
  OperatorStateSnapshot,
  Section,
  SnapshotMetadata,
  SubtaskSnapshot,
} from '../snapshot.ts';
import { channelsOf } from './channels.ts';

/** What one subtask of an operator stores. */
export interface StoredFixture {
  /** One key in every key group of the subtask, and a timer. */
  readonly keyed?: boolean;
  /** Items by name: `{ splits: 'abc' }`. */
  readonly list?: Readonly<Record<string, string>>;
  readonly union?: Readonly<Record<string, string>>;
  readonly broadcast?: Readonly<Record<string, string>>;
}

export interface SnapshotFixture {
  /** By uid; `null` where a subtask stores nothing of the operator. */
  readonly states?: Readonly<Record<string, (subtask: number) => StoredFixture | null>>;
  /** Names such as `sum1` of subtasks that had finished, or `sum` of whole vertices. */
  readonly finished?: readonly string[];
}

/** The mark at which the fixture's snapshot finds a channel. */
export function markOfChannel(channelId: number): number {
  return 10 + channelId;
}

export function snapshotOf(jobGraph: JobGraph, fixture: SnapshotFixture = {}): SnapshotMetadata {
  const finished = new Set(fixture.finished);
  return {
    formatVersion: 1,
    kind: 'checkpoint',
    jobId: '0'.repeat(32),
    jobName: jobGraph.jobName,
    checkpointId: 5,
    triggeredAt: 0,
    coordinators: [],
    vertices: jobGraph.vertices.map((vertex) => {
      const fullyFinished = finished.has(vertex.name);
      const subtasks = Array.from({ length: vertex.parallelism }, (_, subtask) =>
        finished.has(`${vertex.name}${subtask}`)
          ? finishedSubtask(vertex, subtask)
          : subtaskOf(jobGraph, vertex, { subtask, fixture }),
      );
      return {
        vertexId: vertex.id,
        name: vertex.name,
        parallelism: vertex.parallelism,
        maxParallelism: vertex.maxParallelism,
        operatorIds: vertex.operators.map(({ operatorId }) => operatorId),
        fullyFinished,
        subtasks: fullyFinished ? [] : subtasks,
      };
    }),
  };
}

/** The letters of a restored state. */
export function lettersOf(restore: OperatorRestore | undefined, name: string): string {
  const state = restore?.operatorStates.find((it) => it.name === name);
  return (state?.items ?? []).map(({ section }) => String.fromCharCode(section.offset)).join('');
}

function finishedSubtask(vertex: JobVertex, subtask: number): SubtaskSnapshot {
  return {
    vertexId: vertex.id,
    subtask,
    attempt: { epoch: 1, counter: 1 },
    data: null,
    operators: [],
    inputs: [],
    outputs: [],
    finished: true,
    sizeBytes: 0,
  };
}

function subtaskOf(
  jobGraph: JobGraph,
  vertex: JobVertex,
  { subtask, fixture }: { readonly subtask: number; readonly fixture: SnapshotFixture },
): SubtaskSnapshot {
  const key = subtaskKey(vertex.id, subtask);
  const channels = channelsOf(jobGraph);
  const operators = vertex.operators.flatMap((operator): OperatorSnapshot[] => {
    const stored = fixture.states?.[operator.uid ?? '']?.(subtask) ?? null;
    return stored === null ? [] : [operatorOf(vertex, operator, { subtask, stored })];
  });
  return {
    vertexId: vertex.id,
    subtask,
    attempt: { epoch: 1, counter: 1 },
    data: { kind: 'file', path: `${vertex.name}-${subtask}`, sizeBytes: 1_000, checksum: 0 },
    operators,
    inputs: channels
      .filter(({ consumer }) => subtaskKey(consumer.vertexId, consumer.subtask) === key)
      .map(({ channelId }) => ({
        channelId,
        k: markOfChannel(channelId),
        mark: markOfChannel(channelId),
        watermark: 1_000,
        idle: false,
        endOfData: false,
        frames: [],
      })),
    outputs: channels
      .filter(({ producer }) => subtaskKey(producer.vertexId, producer.subtask) === key)
      .map(({ channelId }) => ({
        channelId,
        mark: markOfChannel(channelId),
        e: markOfChannel(channelId),
        frames: [],
      })),
    finished: false,
    sizeBytes: 1_000,
  };
}

function operatorOf(
  vertex: JobVertex,
  operator: JobOperator,
  { subtask, stored }: { readonly subtask: number; readonly stored: StoredFixture },
): OperatorSnapshot {
  const { parallelism, maxParallelism } = vertex;
  const [first, last] = keyGroupRange(maxParallelism, parallelism, subtask);
  const sections = Array.from({ length: last - first + 1 }, (_, i) => ({
    keyGroup: first + i,
    ...sectionAt(first + i),
  }));
  const statesOf = (mode: OperatorStateSnapshot['mode']): OperatorStateSnapshot[] =>
    Object.entries(stored[mode] ?? {}).map(([name, letters]) => ({
      name,
      mode,
      items: letters.split('').map((letter) => sectionAt(letter.charCodeAt(0))),
    }));
  return {
    operatorId: operator.operatorId,
    uid: operator.uid,
    name: operator.name,
    type: operator.type,
    keyed:
      stored.keyed === true
        ? {
            keyGroups: [first, last],
            states: [{ name: 'total', kind: 'value', version: 1 }],
            blocks: sections,
            timers: sections.slice(0, 1),
            keyCount: sections.length,
          }
        : null,
    operatorStates: [...statesOf('list'), ...statesOf('union'), ...statesOf('broadcast')],
  };
}

function sectionAt(offset: number): Section {
  return { offset, sizeBytes: 10, count: 1, checksum: 0 };
}
