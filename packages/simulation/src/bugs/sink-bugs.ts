/** Mistakes in what sinks promise, commit and give up. */
import { FileSourceReader } from '@weir/core/internal/connectors/files/file-source-reader';
import { SplitReader } from '@weir/core/internal/connectors/files/split-reader';
import { FileCommitter } from '@weir/core/internal/connectors/parts/file-committer';
import { FileSinkWriter } from '@weir/core/internal/connectors/parts/file-writer';
import { PartFile } from '@weir/core/internal/connectors/parts/part-file';
import { HeapOperatorListState } from '@weir/core/internal/state/operator/operator-list-state';
import { SinkOperator } from '@weir/core/internal/taskmanager/operators/sink';
import { Task } from '@weir/core/internal/taskmanager/task/task';
import { TransactionCommitter, TransactionWriter } from '../jobs/transaction-sink.ts';
import type { Committable } from '../jobs/transaction-sink.ts';
import { SimulatedFileSystem } from '../world/simulated-file-system.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { substituteMethod } from './substitute.ts';

export const sinkBugs: readonly PlantedBug[] = [
  {
    name: 'commit at the barrier',
    plant: () =>
      substituteMethod(
        SinkOperator.prototype,
        'prepareSnapshot',
        (original) =>
          async function (this: SinkOperator, checkpointId, endOfInput) {
            await original.call(this, checkpointId, endOfInput);
            await this.notifyCheckpointComplete(checkpointId);
          },
      ),
  },
  {
    name: 'commit of everything when one checkpoint completes',
    plant: () =>
      substituteMethod(
        SinkOperator.prototype,
        'notifyCheckpointComplete',
        (original) =>
          function (this: SinkOperator) {
            return original.call(this, Number.MAX_SAFE_INTEGER);
          },
      ),
  },
  {
    name: 'pending files forgotten at restore',
    plant: () =>
      substituteMethod(
        FileCommitter.prototype,
        'recover',
        (original) =>
          function (this: FileCommitter, recovery) {
            return original.call(this, { ...recovery, committables: [], writerStates: [] });
          },
      ),
  },
  {
    name: 'file that a former leader may write to finished as it is',
    scenario: 'leader-between-persist-and-notify',
    plant: () =>
      substituteMethod(
        FileCommitter.prototype,
        'recover',
        (original) =>
          function (this: FileCommitter, recovery) {
            const { attempt } = recovery;
            const writerStates = recovery.writerStates.map((state) => ({ ...state, attempt }));
            return original.call(this, { ...recovery, writerStates });
          },
      ),
  },
  {
    name: 'pending transactions forgotten at restore',
    plant: () =>
      substituteMethod(
        TransactionCommitter.prototype,
        'recover',
        (original) =>
          function (this: TransactionCommitter, recovery) {
            return original.call(this, { ...recovery, committables: [] });
          },
      ),
  },
  {
    name: 'recovery of a region aborts what its neighbours write',
    plant: () =>
      substituteMethod(
        TransactionCommitter.prototype,
        'recover',
        (original) =>
          function (this: TransactionCommitter, recovery) {
            return original.call(this, { ...recovery, subtasks: 'all' });
          },
      ),
  },
  {
    name: 'notification taken as guaranteed',
    plant: () =>
      substituteMethod(
        HeapOperatorListState.prototype,
        'update',
        (original) =>
          function (this: HeapOperatorListState<unknown>, values) {
            original.call(this, withNewestOnly([...values]));
          },
      ),
  },
  {
    name: 'aborted checkpoint aborts what it had prepared',
    plant: () => {
      const prepared = new Map<number, (() => void)[]>();
      const undo = substituteMethod(
        TransactionWriter.prototype,
        'prepareCommit',
        (original) =>
          function (this: TransactionWriter, options) {
            const result = original.call(this, options);
            const aborts = result.committables.map(
              ({ id }) =>
                () =>
                  this.abort(id),
            );
            prepared.set(options.checkpointId, [
              ...(prepared.get(options.checkpointId) ?? []),
              ...aborts,
            ]);
            return result;
          },
      );
      const undoAbort = substituteMethod(
        Task.prototype,
        'notifyCheckpointAborted',
        (original) =>
          function (this: Task, checkpointId) {
            for (const abort of prepared.get(checkpointId) ?? []) abort();
            prepared.delete(checkpointId);
            original.call(this, checkpointId);
          },
      );
      return () => {
        undo();
        undoAbort();
      };
    },
  },
  {
    name: 'part file acknowledged before it is synced',
    plant: () =>
      substituteMethod(
        PartFile.prototype,
        'durable',
        () =>
          function (this: PartFile) {
            this.flush();
            return Promise.resolve();
          },
      ),
  },
  {
    name: 'part file published with what came after the checkpoint',
    plant: () =>
      substituteMethod(SimulatedFileSystem.prototype, 'truncate', () => () => Promise.resolve()),
  },
  {
    name: 'part files that are open not in the snapshot',
    plant: () =>
      substituteMethod(
        FileSinkWriter.prototype,
        'prepareCommit',
        (original) =>
          function (this: FileSinkWriter<unknown>, options) {
            const prepared = original.call(this, options);
            const writerStates = prepared.writerStates.map((state) => ({ ...state, open: [] }));
            return { ...prepared, writerStates };
          },
      ),
  },
  {
    name: 'last of several part files not promised',
    plant: () =>
      substituteMethod(
        FileSinkWriter.prototype,
        'prepareCommit',
        (original) =>
          function (this: FileSinkWriter<unknown>, options) {
            const prepared = original.call(this, options);
            const committables =
              prepared.committables.length > 1
                ? prepared.committables.slice(0, -1)
                : prepared.committables;
            return { ...prepared, committables };
          },
      ),
  },
  {
    name: 'part files open at the checkpoint not finished by recovery',
    plant: () =>
      substituteMethod(
        FileCommitter.prototype,
        'recover',
        (original) =>
          async function (this: FileCommitter, recovery) {
            await original.call(this, { ...recovery, writerStates: [] });
          },
      ),
  },
  {
    name: 'splits that wait in a reader not in the snapshot',
    plant: () =>
      substituteMethod(
        FileSourceReader.prototype,
        'snapshotState',
        (original) =>
          function (this: FileSourceReader<unknown>) {
            return original.call(this).slice(0, 1);
          },
      ),
  },
  {
    name: 'position in a file behind the line that is being read',
    plant: () =>
      substituteMethod(
        SplitReader.prototype,
        'snapshot',
        (original) =>
          function (this: SplitReader<unknown>) {
            const split = original.call(this);
            return { ...split, position: split.position === null ? null : split.position + 1 };
          },
      ),
  },
];

function withNewestOnly(values: readonly unknown[]): readonly unknown[] {
  const isCommittable = (value: unknown): value is Committable =>
    typeof value === 'object' && value !== null && 'checkpointId' in value && 'id' in value;
  const newest = Math.max(...values.filter(isCommittable).map((it) => it.checkpointId));
  return values.filter((value) => !isCommittable(value) || value.checkpointId === newest);
}
