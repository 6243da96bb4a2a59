/** Mistakes in what goes over channels: barriers, ends, watermarks, and who gets which record. */
import { InputGate } from '@weir/core/internal/network/input-gate';
import { KeyChannels } from '@weir/core/internal/network/partitioner';
import { ResultPartition } from '@weir/core/internal/network/result-partition';
import { ResultSubpartition } from '@weir/core/internal/network/result-subpartition';
import * as aligned from '@weir/core/internal/protocol/barrier/aligned-barrier-handler';
import * as counts from '@weir/core/internal/protocol/barrier/counting-barrier-handler';
import { WatermarkTracker } from '@weir/core/internal/taskmanager/operators/watermark-generator';
import { WatermarkValve } from '@weir/core/internal/taskmanager/task/watermark-valve';
import type { PlantedBug } from './planted-bugs.ts';
import { substituteMethod } from './substitute.ts';

export const networkBugs: readonly PlantedBug[] = [
  {
    name: 'barrier overtakes the batch that is open',
    plant: () =>
      substituteMethod(
        ResultSubpartition.prototype,
        'appendControl',
        (original) =>
          function (this: ResultSubpartition, frame) {
            if (frame.kind !== 'barrier') return original.call(this, frame);
            this.flush = () => undefined;
            try {
              return original.call(this, frame);
            } finally {
              Reflect.deleteProperty(this, 'flush');
            }
          },
      ),
  },
  {
    name: 'channel that has ended still waited for',
    plant: () =>
      substituteMethod(
        aligned.AlignedBarrierHandler.prototype,
        'handle',
        (original) =>
          function (this: aligned.AlignedBarrierHandler, event) {
            return event.type === 'endOfPartition' ? [] : original.call(this, event);
          },
      ),
  },
  {
    name: 'channel not unblocked after its checkpoint',
    plant: () =>
      substituteMethod(
        InputGate.prototype,
        'unblock',
        (original) =>
          function (this: InputGate, channel) {
            if (channel.index !== 1) original.call(this, channel);
          },
      ),
  },
  {
    name: 'counted checkpoint taken before its last barrier',
    plant: () =>
      substituteMethod(
        counts.CountingBarrierHandler.prototype,
        'handle',
        (original) =>
          function (this: counts.CountingBarrierHandler, event) {
            const effects = original.call(this, event);
            if (event.type !== 'barrier' || effects.length > 0) return effects;
            return [
              {
                type: 'snapshot',
                trigger: event.trigger,
                alignmentStart: event.now,
              },
            ];
          },
      ),
  },
  {
    name: 'records of some keys sent to the next subtask',
    plant: () =>
      substituteMethod(
        KeyChannels.prototype,
        'channelOf',
        (original) =>
          function (this: KeyChannels, key) {
            const channel = original.call(this, key);
            return key === 3 && channel > 0 ? channel - 1 : channel;
          },
      ),
  },
  {
    name: 'position of the outputs not restored',
    plant: () => substituteMethod(ResultPartition.prototype, 'restore', () => () => undefined),
  },
  {
    name: 'watermark left out of the snapshot',
    plant: () =>
      substituteMethod(WatermarkValve.prototype, 'stateOf', () => () => ({
        watermark: -Infinity,
        idle: false,
      })),
  },
  {
    name: 'watermark of one input taken for that of all',
    plant: () =>
      substituteMethod(
        WatermarkValve.prototype,
        'watermark',
        (original) =>
          function (this: WatermarkValve, channel, timestamp) {
            original.call(this, channel, timestamp);
            if (channel === 0) return;
            original.call(this, 0, timestamp);
          },
      ),
  },
  {
    name: 'splits that do not hold back event time',
    plant: () => {
      const left = new WeakMap<WatermarkTracker, boolean>();
      let count = 0;
      return substituteMethod(
        WatermarkTracker.prototype,
        'probeIdle',
        (original) =>
          function (this: WatermarkTracker, now) {
            if (!left.has(this)) left.set(this, count++ % 2 === 1);
            return original.call(this, now) || left.get(this) === true;
          },
      );
    },
  },
  {
    name: 'no buffer sent before the end of the data',
    plant: () =>
      substituteMethod(
        ResultPartition.prototype,
        'broadcastEndOfData',
        (original) =>
          function (this: ResultPartition, savepointId) {
            for (const subpartition of this.subpartitions) subpartition.flush = () => undefined;
            original.call(this, savepointId);
          },
      ),
  },
];
