/** Mistakes in barriers, channels, acknowledgements and recovery. */
import { CheckpointShell } from '@weir/core/internal/jobmanager/checkpoint-shell';
import { SourceCoordinator } from '@weir/core/internal/jobmanager/source-coordinator';
import { InputChannel } from '@weir/core/internal/network/input-channel';
import { InputGate } from '@weir/core/internal/network/input-gate';
import { ResultSubpartition } from '@weir/core/internal/network/result-subpartition';
import { PendingCheckpoint } from '@weir/core/internal/protocol/checkpoint/pending-checkpoint';
import { OperatorChain } from '@weir/core/internal/taskmanager/chain/operator-chain';
import { WatermarkValve } from '@weir/core/internal/taskmanager/task/watermark-valve';
import { SimulatedReader } from '../jobs/simulated-source.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { substituteGetter, substituteMethod } from './substitute.ts';

export const coordinatorBugs: readonly PlantedBug[] = [
  {
    name: 'no alignment',
    plant: () => substituteMethod(InputGate.prototype, 'block', () => () => undefined),
  },
  {
    name: 'complete without one acknowledgement',
    plant: () =>
      substituteGetter(PendingCheckpoint.prototype, 'isFullyAcknowledged', function () {
        return this.missing.length <= 1;
      }),
  },
  {
    name: 'barrier not sent to one channel',
    plant: () =>
      substituteMethod(
        ResultSubpartition.prototype,
        'appendControl',
        (original) =>
          function (this: ResultSubpartition, frame) {
            const isLeftOut = frame.kind === 'barrier' && this.descriptor.consumer.subtask === 1;
            return isLeftOut ? this.end : original.call(this, frame);
          },
      ),
  },
  {
    name: 'records taken before the barrier they came behind',
    plant: () => {
      const held = new WeakMap<InputGate, ReturnType<InputGate['poll']>>();
      return substituteMethod(
        InputGate.prototype,
        'poll',
        (original) =>
          function (this: InputGate) {
            const waiting = held.get(this) ?? null;
            if (waiting !== null) {
              held.delete(this);
              this.consumed();
              return waiting;
            }
            const polled = original.call(this);
            if (polled?.frame.kind !== 'barrier') return polled;
            const next = original.call(this);
            if (next === null) return polled;
            held.set(this, polled);
            return next;
          },
      );
    },
  },
  {
    name: 'offset one too high in the snapshot',
    plant: () =>
      substituteMethod(
        SimulatedReader.prototype,
        'snapshotState',
        (original) =>
          function (this: SimulatedReader) {
            return original.call(this).map((split) => ({ ...split, next: split.next + 1 }));
          },
      ),
  },
  {
    name: 'offset one too low in the snapshot',
    plant: () =>
      substituteMethod(
        SimulatedReader.prototype,
        'snapshotState',
        (original) =>
          function (this: SimulatedReader) {
            return original
              .call(this)
              .map((split) => ({ ...split, next: Math.max(0, split.next - 1) }));
          },
      ),
  },
  {
    name: 'splits of failed readers not given back',
    plant: () =>
      substituteMethod(SourceCoordinator.prototype, 'readersReset', () => () => undefined),
  },
  {
    name: 'request of a reader answered after it was reset',
    scenario: 'thread-dies-in-restart',
    plant: () => {
      const asked = new WeakMap<SourceCoordinator, Set<number>>();
      const undoHandle = substituteMethod(
        SourceCoordinator.prototype,
        'handle',
        (original) =>
          function (this: SourceCoordinator, subtask, event) {
            const known = asked.get(this) ?? new Set<number>();
            asked.set(this, known);
            if (event.type === 'splitRequest') known.add(subtask);
            original.call(this, subtask, event);
          },
      );
      const undoReset = substituteMethod(
        SourceCoordinator.prototype,
        'readersReset',
        (original) =>
          function (this: SourceCoordinator, subtasks, checkpointId) {
            const known = [...(asked.get(this) ?? [])].filter((one) => subtasks.includes(one));
            original.call(this, subtasks, checkpointId);
            for (const subtask of known) this.handle(subtask, { type: 'splitRequest' });
          },
      );
      return () => {
        undoHandle();
        undoReset();
      };
    },
  },
  {
    name: 'no checkpoint restored after a failure',
    plant: () =>
      substituteGetter(CheckpointShell.prototype, 'latestCompleted', function () {
        return null;
      }),
  },
  {
    name: 'position of a channel not restored',
    plant: () => substituteMethod(InputChannel.prototype, 'restore', () => () => undefined),
  },
  {
    name: 'watermark not restored',
    plant: () => substituteMethod(WatermarkValve.prototype, 'restore', () => () => undefined),
  },
  {
    name: 'end of input not told to operators',
    plant: () => substituteMethod(OperatorChain.prototype, 'endOfInput', () => () => undefined),
  },
];
