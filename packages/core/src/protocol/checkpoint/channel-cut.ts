/**
 * The last look before a checkpoint is published: do both ends of every channel describe the same
 * cut? The consumer has taken the frames below k, the producer has made those below e, and the
 * barrier stands at the mark m. What lies between must be in the snapshot, or it is lost. A fault
 * found here costs a checkpoint; found at restore it would cost the data.
 */
import type { Channel } from '../execution/channels.ts';
import type {
  InputChannelSnapshot,
  OutputChannelSnapshot,
  Section,
  SubtaskSnapshot,
} from '../snapshot.ts';
import type { CheckpointingMode } from './checkpoint-config.ts';
import type { JobTopology } from './job-topology.ts';
import { keyOf } from './job-topology.ts';

/** What is wrong with the cut, or `null`. Ends that finished before the trigger are left out. */
export function findBrokenChannel(
  topology: JobTopology,
  snapshots: readonly SubtaskSnapshot[],
  mode: CheckpointingMode,
): string | null {
  const inputs = new Map<number, InputChannelSnapshot>();
  const outputs = new Map<number, OutputChannelSnapshot>();
  for (const snapshot of snapshots) {
    for (const input of snapshot.inputs) inputs.set(input.channelId, input);
    for (const output of snapshot.outputs) outputs.set(output.channelId, output);
  }
  const present = new Set(snapshots.map(keyOf));
  for (const channel of topology.channels) {
    if (!present.has(keyOf(channel.producer)) || !present.has(keyOf(channel.consumer))) continue;
    const fault = faultOf(inputs.get(channel.channelId), outputs.get(channel.channelId), mode);
    if (fault !== null) return `channel ${describe(topology, channel)}: ${fault}`;
  }
  return null;
}

function faultOf(
  input: InputChannelSnapshot | undefined,
  output: OutputChannelSnapshot | undefined,
  mode: CheckpointingMode,
): string | null {
  if (input === undefined && output === undefined) return null;
  if (input === undefined) return 'only the producer describes it';
  if (output === undefined) return 'only the consumer describes it';
  if (input.mark !== output.mark)
    return `its barrier stands at ${output.mark} for one end, at ${input.mark} for the other`;
  const kept = frameCount(input.frames);
  // Who only counts barriers goes on reading behind them, so it may have taken more than the mark.
  const isAhead = mode === 'AT_LEAST_ONCE' && input.k > input.mark && kept === 0;
  if (!isAhead && input.k + kept !== input.mark)
    return `consumed to ${input.k} and ${kept} frames kept, with the barrier at ${input.mark}`;
  const unsent = frameCount(output.frames);
  if (output.mark + unsent !== output.e)
    return `produced to ${output.e} and ${unsent} frames kept, with the barrier at ${output.mark}`;
  return null;
}

function frameCount(sections: readonly Section[]): number {
  return sections.reduce((sum, section) => sum + section.count, 0);
}

function describe(topology: JobTopology, { channelId, producer, consumer }: Channel): string {
  return `${channelId} from ${topology.nameOf(producer)} to ${topology.nameOf(consumer)}`;
}
