/** Operators with state, their snapshots in memory, and restoring from them: for tests here. */
import { ManualClock } from '../base/clock.ts';
import { BinaryWriter } from '../base/codec/binary-writer.ts';
import { crc32 } from '../base/codec/crc32.ts';
import type { OperatorId } from '../base/ids.ts';
import { keyGroupRange } from '../base/key-groups.ts';
import type { StateDeclaration, StateHandles } from '../api/state.ts';
import type { OperatorRestore } from '../protocol/messages.ts';
import type { KeyedSnapshot, OperatorSnapshot, StateHandle } from '../protocol/snapshot.ts';
import { MemoryFileSystem } from '../storage/memory-file-system.ts';
import { HeapKeyedStateBackend } from './heap/heap-keyed-state-backend.ts';
import type { KeyedSnapshotCursor, SectionOutput } from './keyed-state-backend.ts';
import type { SnapshotEnvironment } from './snapshot/state-data-reader.ts';
import { createStateHandles } from './state-handles.ts';
import { OperatorStateBackend } from './operator/operator-state-backend.ts';
import { InternalTimers } from './timers/internal-timers.ts';

export const OPERATOR_ID = 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb' as OperatorId;
export const OPERATOR_NAME = 'totals';

/** Keyed state of one subtask, with its handles. */
export interface KeyedSubtask<S extends StateDeclaration> {
  readonly backend: HeapKeyedStateBackend;
  readonly timers: InternalTimers;
  readonly state: StateHandles<S>;
}

export interface Placement {
  readonly maxParallelism?: number;
  readonly parallelism?: number;
  readonly subtask?: number;
  readonly freeze?: boolean;
  readonly entriesPerMap?: number;
}

export function keyedSubtask<S extends StateDeclaration>(
  declaration: S,
  placement: Placement = {},
): KeyedSubtask<S> {
  const { maxParallelism = 128, parallelism = 1, subtask = 0, ...options } = placement;
  const keyGroups = keyGroupRange(maxParallelism, parallelism, subtask);
  const place = { maxParallelism, keyGroups, operatorName: OPERATOR_NAME };
  const backend = new HeapKeyedStateBackend({ ...place, ...options });
  const operator = new OperatorStateBackend({ operatorName: OPERATOR_NAME, subtask, parallelism });
  const state = createStateHandles(declaration, backend, operator);
  return { backend, timers: new InternalTimers(place), state };
}

/** The data of a snapshot as one byte array. */
export class MemoryOutput implements SectionOutput {
  readonly #writer = new BinaryWriter();

  append(bytes: Uint8Array, count: number): ReturnType<SectionOutput['append']> {
    const offset = this.#writer.length;
    this.#writer.bytes(bytes);
    return { offset, sizeBytes: bytes.length, count, checksum: crc32(bytes) };
  }

  get handle(): StateHandle {
    const bytes = this.#writer.copy();
    return { kind: 'inline', bytes, checksum: crc32(bytes) };
  }
}

/** Walks what is left of both cursors and gives what the JobManager would hand to a new subtask. */
export function finishSnapshot(
  { backend }: KeyedSubtask<StateDeclaration>,
  output: MemoryOutput,
  keyed: KeyedSnapshotCursor,
  timers: KeyedSnapshotCursor | null = null,
): OperatorRestore['keyed'][number] {
  while (!keyed.step(1000));
  while (timers?.step(1000) === false);
  const part = {
    keyGroups: backend.keyGroups,
    states: [...backend.states],
    blocks: keyed.sections,
    timers: timers?.sections ?? [],
    keyCount: keyed.entryCount,
  };
  keyed.release();
  timers?.release();
  return { data: output.handle, snapshot: operatorSnapshot(part) };
}

/** Takes a snapshot of keyed state and timers at once. */
export function takeSnapshot(
  subtask: KeyedSubtask<StateDeclaration>,
): OperatorRestore['keyed'][number] {
  const output = new MemoryOutput();
  const keyed = subtask.backend.startSnapshot(output);
  const timers = subtask.timers.startSnapshot(output);
  return finishSnapshot(subtask, output, keyed, timers);
}

export function operatorSnapshot(keyed: KeyedSnapshot | null): OperatorSnapshot {
  return {
    operatorId: OPERATOR_ID,
    uid: 'totals',
    name: OPERATOR_NAME,
    type: 'keyed-process',
    keyed,
    operatorStates: [],
  };
}

export function memoryEnvironment(): SnapshotEnvironment & {
  readonly fileSystem: MemoryFileSystem;
  readonly clock: ManualClock;
} {
  return { fileSystem: new MemoryFileSystem(), clock: new ManualClock(), directory: '/chk-1' };
}
