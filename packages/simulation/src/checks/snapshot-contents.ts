/**
 * What a published checkpoint holds, read as `weir inspect` would, straight from the disk: no
 * latency, no faults, and whatever is not durable counts as missing.
 */
import { ManualClock } from '@weir/core/internal/base/clock';
import { decodeValue } from '@weir/core/internal/base/codec/value-codec';
import type {
  OperatorSnapshot,
  StateHandle,
  SubtaskSnapshot,
} from '@weir/core/internal/protocol/snapshot';
import { readKeyed, readTimers } from '@weir/core/internal/state/snapshot/read-keyed';
import type { KeyedRow, TimerRow } from '@weir/core/internal/state/snapshot/read-keyed';
import { StateDataReader } from '@weir/core/internal/state/snapshot/state-data-reader';
import type { SnapshotEnvironment } from '@weir/core/internal/state/snapshot/state-data-reader';
import type { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import { handlePath } from '@weir/core/internal/storage/snapshot-layout';
import { readStoredSnapshot, snapshotData } from '@weir/core/internal/storage/stored-snapshot';

/** State of one operator over all subtasks. */
export interface OperatorContents {
  readonly rows: KeyedRow[];
  readonly timers: TimerRow[];
  /** By name of state: the items of each subtask. */
  readonly lists: Map<string, (readonly unknown[])[]>;
  /** The highest that a subtask has from its inputs. */
  watermark: number;
  /** Some subtask had finished earlier: what it held is gone, and nobody needs it. */
  isPartial: boolean;
}

export interface SnapshotContents {
  /** By uid; an operator that had wholly finished is missing. */
  readonly operators: ReadonlyMap<string, OperatorContents>;
  /** State of split enumerators by uid of their source. */
  readonly enumerators: ReadonlyMap<string, unknown>;
}

export async function readContents(
  fileSystem: MemoryFileSystem,
  directory: string,
): Promise<SnapshotContents> {
  const env = { fileSystem, clock: new ManualClock(), directory };
  const stored = await readStoredSnapshot(env, directory);
  if (stored === null) throw new Error(`${directory} holds no snapshot`);
  for (const { handle, owner } of snapshotData(stored.metadata)) {
    if (handle.kind !== 'file') continue;
    const durable = fileSystem.survives(handlePath(directory, handle))?.byteLength ?? 0;
    if (durable === handle.sizeBytes) continue;
    throw new Error(`a power failure would lose the data of ${owner}`);
  }
  const operators = new Map<string, OperatorContents>();
  for (const vertex of stored.metadata.vertices) {
    const isPartial = vertex.subtasks.some(({ operators: held }) => held.length === 0);
    for (const subtask of vertex.subtasks)
      for (const operator of subtask.operators) {
        const uid = operator.uid ?? operator.name;
        const contents = operators.get(uid) ?? newContents();
        operators.set(uid, contents);
        contents.isPartial ||= isPartial;
        const watermark = Math.min(...subtask.inputs.map((input) => input.watermark));
        contents.watermark = Math.max(contents.watermark, watermark);
        await addOperator(env, contents, subtask, operator);
      }
  }
  const enumerators = new Map<string, unknown>();
  for (const { uid, bytes } of stored.metadata.coordinators)
    enumerators.set(uid ?? '', decodeValue(bytes));
  return { operators, enumerators };
}

function newContents(): OperatorContents {
  return { rows: [], timers: [], lists: new Map(), watermark: -Infinity, isPartial: false };
}

async function addOperator(
  env: SnapshotEnvironment,
  contents: OperatorContents,
  { data }: SubtaskSnapshot,
  operator: OperatorSnapshot,
): Promise<void> {
  const { keyed } = operator;
  if (data !== null && keyed !== null) {
    for await (const row of readKeyed(env, data, operator, keyed.keyGroups))
      contents.rows.push(row);
    for await (const timer of readTimers(env, data, operator, keyed.keyGroups))
      contents.timers.push(timer);
  }
  for (const state of operator.operatorStates) {
    const lists = contents.lists.get(state.name) ?? [];
    contents.lists.set(state.name, lists);
    lists.push(await readItems(env, data, state.items));
  }
}

async function readItems(
  env: SnapshotEnvironment,
  data: StateHandle | null,
  items: OperatorSnapshot['operatorStates'][number]['items'],
): Promise<readonly unknown[]> {
  if (items.length === 0) return [];
  if (data === null) throw new Error('a snapshot names items, but no data that holds them');
  const reader = await StateDataReader.open(env, data);
  try {
    const values: unknown[] = [];
    for (const item of items) values.push(decodeValue(await reader.read(item, 'an item')));
    return values;
  } finally {
    await reader.close();
  }
}
