/** The output of an operator that leads into the network, over one edge. */
import type { PartitionerSpec } from '../../api/stream-graph.ts';
import { ALL_CHANNELS, createPartitioner, KeyChannels } from '../../network/partitioner.ts';
import type { PartitionerOptions } from '../../network/partitioner.ts';
import type { ResultPartition } from '../../network/result-partition.ts';
import type { InlinedEdge } from './inlined.ts';
import type { Output } from './output.ts';

export interface NetworkOutputOptions extends Omit<PartitionerOptions, 'spec'> {
  readonly spec: PartitionerSpec;
  readonly partition: ResultPartition;
  readonly counters: { recordsOut: number };
  readonly failure: (error: unknown) => unknown;
}

export interface NetworkOutput extends Output {
  readonly inlined: InlinedEdge;
}

export function networkOutput(options: NetworkOutputOptions): NetworkOutput {
  const { partition, counters, failure, spec } = options;
  const select = createPartitioner(options);
  const byKey =
    spec.type === 'hash'
      ? { keySelector: spec.keySelector, channels: new KeyChannels(options) }
      : null;
  return {
    inlined: { partition, byKey, select, counters, failure },
    collect(value, timestamp) {
      counters.recordsOut++;
      let channel: number;
      try {
        channel = select(value);
      } catch (error) {
        throw failure(error);
      }
      if (channel === ALL_CHANNELS) partition.emitToAll(value, timestamp);
      else partition.emit(channel, value, timestamp);
    },
    emitWatermark: (timestamp) => partition.broadcastWatermark(timestamp),
    emitIdle: (idle) => partition.broadcastIdle(idle),
  };
}
