/**
 * Where each channel goes on after a restore. Positions are taken over only if the job has the very
 * channels that the snapshot speaks of: the same vertices, parallelism and edges. If not, every
 * channel begins at 0 and every watermark at its minimum, which loses nothing, since in an aligned
 * snapshot no channel holds a record.
 */
import { StateCorruptionError, StateMigrationError } from '../../base/errors.ts';
import { subtaskKey } from '../../base/ids.ts';
import type { SubtaskKey } from '../../base/ids.ts';
import type { JobGraph } from '../job-graph.ts';
import type { TaskRestore } from '../messages.ts';
import type { InputChannelSnapshot, OutputChannelSnapshot, SnapshotMetadata } from '../snapshot.ts';
import { channelsOf } from './channels.ts';
import type { Channel } from './channels.ts';

export type ChannelPositions = Pick<TaskRestore, 'inputs' | 'outputs'>;

/** Both ends of a channel; one is `null` if its subtask had finished and names no channels. */
interface Ends {
  readonly input: InputChannelSnapshot | null;
  readonly output: OutputChannelSnapshot | null;
}

/** By subtask; empty when the channels are others than the snapshot's. */
export function channelPositionsOf(
  metadata: SnapshotMetadata,
  jobGraph: JobGraph,
): ReadonlyMap<SubtaskKey, ChannelPositions> {
  refuseInFlightRecords(metadata);
  const channels = channelsOf(jobGraph);
  if (!hasTheseChannels(metadata, jobGraph, channels)) return new Map();
  const inputs = new Map<SubtaskKey, TaskRestore['inputs'][number][]>();
  const outputs = new Map<SubtaskKey, TaskRestore['outputs'][number][]>();
  const ends = endsOf(metadata);
  for (const { channelId, producer, consumer } of channels) {
    const { input, output } = ends.get(channelId) ?? { input: null, output: null };
    const mark = markOf(channelId, { input, output });
    append(outputs, subtaskKey(producer.vertexId, producer.subtask), { channelId, mark });
    append(inputs, subtaskKey(consumer.vertexId, consumer.subtask), {
      channelId,
      mark,
      // A consumer that had finished has seen the end of every input.
      watermark: input === null ? Infinity : input.watermark,
      idle: input === null ? false : input.idle,
      endOfData: input === null ? true : input.endOfData,
    });
  }
  return new Map(
    [...inputs.keys(), ...outputs.keys()].map((key) => [
      key,
      { inputs: inputs.get(key) ?? [], outputs: outputs.get(key) ?? [] },
    ]),
  );
}

/** Frames in a snapshot would have to be restored with it; leaving them out would lose records. */
function refuseInFlightRecords(metadata: SnapshotMetadata): void {
  for (const { name, subtasks } of metadata.vertices)
    for (const { subtask, inputs, outputs } of subtasks)
      if (inputs.some(({ k, mark }) => k < mark) || outputs.some(({ e, mark }) => mark < e))
        throw new StateMigrationError(
          `${metadata.kind} ${metadata.checkpointId} holds records in flight at "${name}" ` +
            `(subtask ${subtask}), being unaligned, and this version cannot restore those: ` +
            'restore a savepoint or an aligned checkpoint',
        );
}

/**
 * Compares the channels that each subtask of the snapshot names with those of the job. Channels are
 * numbered alike only in equal graphs, so unequal ones show in the numbers at their ends.
 */
function hasTheseChannels(
  metadata: SnapshotMetadata,
  jobGraph: JobGraph,
  channels: readonly Channel[],
): boolean {
  if (metadata.vertices.length !== jobGraph.vertices.length) return false;
  const inputs = new Map<SubtaskKey, number[]>();
  const outputs = new Map<SubtaskKey, number[]>();
  for (const { channelId, producer, consumer } of channels) {
    append(outputs, subtaskKey(producer.vertexId, producer.subtask), channelId);
    append(inputs, subtaskKey(consumer.vertexId, consumer.subtask), channelId);
  }
  return jobGraph.vertices.every(({ id, parallelism }) => {
    const stored = metadata.vertices.find(({ vertexId }) => vertexId === id);
    if (stored?.parallelism !== parallelism) return false;
    if (stored.fullyFinished) return true;
    return Array.from({ length: parallelism }, (_, i) => i).every((i) => {
      const snapshot = stored.subtasks.find(({ subtask }) => subtask === i);
      if (snapshot === undefined) return false;
      if (snapshot.finished) return true;
      const key = subtaskKey(id, i);
      return (
        areSame(snapshot.inputs, inputs.get(key) ?? []) &&
        areSame(snapshot.outputs, outputs.get(key) ?? [])
      );
    });
  });
}

function areSame(
  stored: readonly { readonly channelId: number }[],
  channelIds: readonly number[],
): boolean {
  const ids = new Set(stored.map(({ channelId }) => channelId));
  return ids.size === channelIds.length && channelIds.every((id) => ids.has(id));
}

function endsOf(metadata: SnapshotMetadata): ReadonlyMap<number, Ends> {
  const ends = new Map<number, Ends>();
  for (const { inputs, outputs } of metadata.vertices.flatMap((vertex) => vertex.subtasks)) {
    for (const input of inputs)
      ends.set(input.channelId, { output: ends.get(input.channelId)?.output ?? null, input });
    for (const output of outputs)
      ends.set(output.channelId, { input: ends.get(output.channelId)?.input ?? null, output });
  }
  return ends;
}

/** The number both ends go on with. */
function markOf(channelId: number, { input, output }: Ends): number {
  if (input !== null && output !== null && input.mark !== output.mark)
    throw new StateCorruptionError(
      `the snapshot contradicts itself: channel ${channelId} stands at ${output.mark} for its ` +
        `producer and at ${input.mark} for its consumer; restore another snapshot`,
    );
  return input?.mark ?? output?.mark ?? 0;
}

function append<T>(lists: Map<SubtaskKey, T[]>, key: SubtaskKey, element: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [element]);
  else list.push(element);
}
