/**
 * The state of an operator in all its subtasks, written and read back by the code that writes and
 * reads checkpoints: what a snapshot does not keep in production is lost here too.
 */
import type { FileSystem } from '@weir/core';
import { ManualClock } from '@weir/core/internal/base/clock';
import { redistribute } from '@weir/core/internal/protocol/execution/redistribution';
import { storedOperatorsOf } from '@weir/core/internal/protocol/execution/stored-operators';
import type { SubtaskSnapshot, VertexSnapshot } from '@weir/core/internal/protocol/snapshot';
import {
  restoreKeyed,
  restoreOperatorState,
  restoreTimers,
} from '@weir/core/internal/state/snapshot/restore';
import {
  dataFileName,
  SubtaskSnapshotWriter,
} from '@weir/core/internal/state/snapshot/subtask-snapshot-writer';
import { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import type { HarnessSubtask } from './harness-subtask.ts';
import type { OperatorUnderTest } from './operator-under-test.ts';

const DIRECTORY = '/snapshot';

/** Made by `snapshot`, taken by `restore`. */
export class HarnessSnapshot {
  /** Number of keys with any state. */
  readonly keyCount: number;
  readonly sizeBytes: number;
  /** Event time of each input. */
  readonly watermarks: readonly number[];
  readonly #vertex: VertexSnapshot;
  /** Holds the data. */
  readonly #disk: FileSystem;

  constructor(vertex: VertexSnapshot, watermarks: readonly number[], disk: FileSystem) {
    const operators = vertex.subtasks.flatMap((subtask) => subtask.operators);
    this.keyCount = operators.reduce((sum, { keyed }) => sum + (keyed?.keyCount ?? 0), 0);
    this.sizeBytes = vertex.subtasks.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    this.#vertex = vertex;
    this.watermarks = watermarks;
    this.#disk = disk;
  }

  /** Brings the state into new subtasks, before they open; resolves to warnings. */
  async restoreInto(
    { vertex, operator }: OperatorUnderTest,
    subtasks: readonly HarnessSubtask[],
  ): Promise<readonly string[]> {
    const stored = storedOperatorsOf({
      formatVersion: 1,
      kind: 'checkpoint',
      jobId: '',
      jobName: '',
      checkpointId: 1,
      triggeredAt: 0,
      vertices: [this.#vertex],
      coordinators: [],
    }).get(operator.operatorId);
    if (stored === undefined) return [];
    const environment = {
      fileSystem: this.#disk,
      clock: new ManualClock(),
      directory: DIRECTORY,
    };
    const warnings: string[] = [];
    for (const [index, restore] of redistribute(stored, vertex).entries()) {
      const { keyed, timers, states } = subtasks[index] as HarnessSubtask;
      if (keyed !== null && timers !== null) {
        warnings.push(...(await restoreKeyed(environment, keyed, restore.keyed)));
        await restoreTimers(environment, timers, restore.keyed);
      }
      warnings.push(...(await restoreOperatorState(environment, states, restore.operatorStates)));
    }
    return warnings;
  }
}

/** Takes the state of all subtasks as it is now. */
export async function takeSnapshot(
  { vertex, operator }: OperatorUnderTest,
  subtasks: readonly HarnessSubtask[],
  options: { readonly checkpointId: number; readonly watermarks: readonly number[] },
): Promise<HarnessSnapshot> {
  const { checkpointId, watermarks } = options;
  const written: SubtaskSnapshot[] = [];
  const disk = new MemoryFileSystem();
  await disk.makeDirectory(DIRECTORY);
  for (const [subtask, { operator: running, keyed, timers, states }] of subtasks.entries()) {
    const execution = { vertexId: vertex.id, subtask, attempt: running.context.attempt };
    const writer = new SubtaskSnapshotWriter(disk, new ManualClock(), {
      location: DIRECTORY,
      fileName: dataFileName(execution),
      inlineThresholdBytes: 0,
    });
    const durable = running.prepareSnapshot(checkpointId, false);
    const { operatorId, uid, name, type } = operator;
    writer.addOperator({ operatorId, uid, name, type, keyed, timers, operatorState: states });
    await durable;
    const { data, operators, sizeBytes } = await writer.finish(() => Promise.resolve());
    const rest = { inputs: [], outputs: [], finished: false };
    written.push({ ...execution, data, operators, sizeBytes, ...rest });
  }
  const snapshot: VertexSnapshot = {
    vertexId: vertex.id,
    name: vertex.name,
    parallelism: vertex.parallelism,
    maxParallelism: vertex.maxParallelism,
    operatorIds: [operator.operatorId],
    fullyFinished: false,
    subtasks: written,
  };
  return new HarnessSnapshot(snapshot, watermarks, disk);
}
