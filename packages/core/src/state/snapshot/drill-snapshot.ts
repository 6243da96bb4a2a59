/**
 * Restores a snapshot on the side, to prove that it can be: every value is decoded, keyed state
 * goes into backends as for a job, and what comes out of them again is compared by hash with what
 * was stored. Needs no code of the job. One operator of one subtask is in memory at a time.
 */
import { createHash } from 'node:crypto';
import type { KeyedStateDescriptor, StateDeclaration } from '../../api/state.ts';
import { decodeValue, encodeValue } from '../../base/codec/value-codec.ts';
import { StateCorruptionError } from '../../base/errors.ts';
import type {
  KeyedStateMeta,
  OperatorSnapshot,
  Section,
  SnapshotMetadata,
  StateHandle,
  VertexSnapshot,
} from '../../protocol/snapshot.ts';
import { HeapKeyedStateBackend } from '../heap/heap-keyed-state-backend.ts';
import { BlockReader } from './key-group-blocks.ts';
import { readKeyed, readTimers } from './read-keyed.ts';
import { restoreKeyed } from './restore.ts';
import type { SnapshotEnvironment } from './state-data-reader.ts';
import { StateDataReader } from './state-data-reader.ts';

/** What was restored. */
export interface DrillResult {
  readonly keys: number;
  readonly timers: number;
  readonly items: number;
}

const SLICE_ENTRIES = 10_000;

/** @throws StateCorruptionError, and whatever else a restore would meet. */
export async function drillSnapshot(
  environment: SnapshotEnvironment,
  metadata: SnapshotMetadata,
): Promise<DrillResult> {
  let keys = 0;
  let timers = 0;
  let items = 0;
  for (const vertex of metadata.vertices)
    for (const { data, operators } of vertex.subtasks)
      for (const stored of operators) {
        if (data === null) continue;
        keys += await drillKeyed(environment, vertex, { data, stored });
        timers += await countTimers(environment, { data, stored });
        items += await decodeItems(environment, { data, stored });
      }
  for (const { bytes } of metadata.coordinators) decodeValue(bytes);
  return { keys, timers, items };
}

interface Part {
  readonly data: StateHandle;
  readonly stored: OperatorSnapshot;
}

async function drillKeyed(
  environment: SnapshotEnvironment,
  { maxParallelism }: VertexSnapshot,
  { data, stored }: Part,
): Promise<number> {
  if (stored.keyed === null) return 0;
  const { keyGroups, states } = stored.keyed;
  const expected = new RowHash();
  for await (const row of readKeyed(environment, data, stored, keyGroups))
    expected.add(row.key, row.states);
  const operatorName = `"${stored.uid ?? stored.name}"`;
  const backend = new HeapKeyedStateBackend({ maxParallelism, keyGroups, operatorName });
  backend.handlesFor(declarationOf(states));
  await restoreKeyed(environment, backend, [{ data, snapshot: stored }]);
  const actual = hashOf(backend);
  if (actual.equals(expected)) return expected.count;
  throw new StateCorruptionError(
    `the keyed state of ${operatorName} is not what was stored once it is restored: ` +
      `${actual.count} keys instead of ${expected.count}, or other values; please report it`,
    { details: { operator: operatorName, keys: actual.count, expected: expected.count } },
  );
}

/** As a snapshot of the restored backend would hold it. */
function hashOf(backend: HeapKeyedStateBackend): RowHash {
  const blocks: Uint8Array[] = [];
  const cursor = backend.startSnapshot({
    append(bytes: Uint8Array, count: number): Section {
      blocks.push(bytes.slice());
      return { offset: blocks.length - 1, sizeBytes: bytes.length, count, checksum: 0 };
    },
  });
  while (!cursor.step(SLICE_ENTRIES));
  const hash = new RowHash();
  for (const { offset, count } of cursor.sections)
    for (const parts of new BlockReader().read(blocks[offset] as Uint8Array, count)) {
      const states: Record<string, unknown> = {};
      for (let i = 1; i < parts.length; i += 2)
        states[backend.states[parts[i] as number]?.name ?? ''] = parts[i + 1];
      hash.add(parts[0], states);
    }
  cursor.release();
  return hash;
}

async function countTimers(
  environment: SnapshotEnvironment,
  { data, stored }: Part,
): Promise<number> {
  let count = 0;
  if (stored.keyed === null) return count;
  for await (const timer of readTimers(environment, data, stored, stored.keyed.keyGroups))
    if (Number.isFinite(timer.timestamp)) count++;
  return count;
}

async function decodeItems(
  environment: SnapshotEnvironment,
  { data, stored }: Part,
): Promise<number> {
  const states = stored.operatorStates.filter(({ items }) => items.length > 0);
  if (states.length === 0) return 0;
  const reader = await StateDataReader.open(environment, data);
  let count = 0;
  try {
    for (const { name, items } of states)
      for (const item of items) {
        decodeValue(await reader.read(item, `state "${name}" of "${stored.uid ?? stored.name}"`));
        count++;
      }
  } finally {
    await reader.close();
  }
  return count;
}

/** A hash of rows whatever their order. */
class RowHash {
  count = 0;
  #sum = 0n;

  add(key: unknown, states: Readonly<Record<string, unknown>>): void {
    const row = [key, Object.entries(states).toSorted(([a], [b]) => (a < b ? -1 : 1))];
    const digest = createHash('sha1').update(encodeValue(row)).digest();
    this.#sum = BigInt.asUintN(64, this.#sum + digest.readBigUInt64LE(0));
    this.count++;
  }

  equals(other: RowHash): boolean {
    return this.count === other.count && this.#sum === other.#sum;
  }
}

function declarationOf(states: readonly KeyedStateMeta[]): StateDeclaration {
  return Object.fromEntries(
    states.map(({ name, kind, version }) => [name, descriptorOf(kind, version)]),
  );
}

/** Nothing is merged or aggregated in a drill. */
function descriptorOf(kind: KeyedStateMeta['kind'], version: number): KeyedStateDescriptor {
  const evolution = { version };
  switch (kind) {
    case 'value':
      return { kind, default: undefined, evolution };
    case 'list':
    case 'map':
      return { kind, evolution };
    case 'reducing':
      return { kind, reduce: (a) => a, evolution };
    case 'aggregating':
      return {
        kind,
        aggregate: { createAccumulator: () => null, add: (_, a) => a, getResult: (a) => a },
        evolution,
      };
  }
}
