/**
 * The content of a keyed snapshot, entry by entry, without the code of the job that wrote it: what
 * restore is built on, and what lets people look into a snapshot.
 */
import type { KeyValue } from '../../api/functions.ts';
import type { OperatorRestore } from '../../protocol/messages.ts';
import type { KeyedSnapshot, OperatorSnapshot, StateHandle } from '../../protocol/snapshot.ts';
import type { KeyGroupSection } from '../keyed-state-backend.ts';
import type { TimeDomain } from '../timers/internal-timers.ts';
import { TIME_DOMAINS } from '../timers/internal-timers.ts';
import { BlockReader } from './key-group-blocks.ts';
import type { SnapshotEnvironment } from './state-data-reader.ts';
import { StateDataReader } from './state-data-reader.ts';

/** First and last key group, both included. */
export type KeyGroups = readonly [number, number];

/** Keyed state of one operator in one subtask of a snapshot. */
export type KeyedPart = OperatorRestore['keyed'][number];

/**
 * Entries of one key group as they are stored; to be gone through before the next block is read.
 */
export interface StoredBlock {
  readonly keyGroup: number;
  readonly entries: Iterable<readonly unknown[]>;
}

export interface KeyedRow {
  readonly keyGroup: number;
  readonly key: KeyValue;
  /** Content by name of state; a list is an array, a map a `Map`, an aggregate its accumulator. */
  readonly states: Readonly<Record<string, unknown>>;
}

export interface TimerRow {
  readonly keyGroup: number;
  readonly key: KeyValue;
  readonly domain: TimeDomain;
  readonly timestamp: number;
}

/** Keys of `range` with their states. Throws `StateCorruptionError` at the first damage. */
export async function* readKeyed(
  env: SnapshotEnvironment,
  data: StateHandle,
  snapshot: OperatorSnapshot,
  range: KeyGroups,
): AsyncGenerator<KeyedRow, void> {
  const { keyed } = snapshot;
  if (keyed === null) return;
  const blocks = readBlocks(env, { data, snapshot }, 'blocks', range);
  for await (const { keyGroup, entries } of blocks)
    for (const parts of entries) {
      const states: Record<string, unknown> = {};
      for (let i = 1; i < parts.length; i += 2)
        states[keyed.states[parts[i] as number]?.name ?? `#${String(parts[i])}`] = parts[i + 1];
      yield { keyGroup, key: parts[0] as KeyValue, states };
    }
}

/** Timers of `range`. Throws `StateCorruptionError` at the first damage. */
export async function* readTimers(
  env: SnapshotEnvironment,
  data: StateHandle,
  snapshot: OperatorSnapshot,
  range: KeyGroups,
): AsyncGenerator<TimerRow, void> {
  const blocks = readBlocks(env, { data, snapshot }, 'timers', range);
  for await (const { keyGroup, entries } of blocks)
    for (const parts of entries) {
      const [domain, timestamp, key] = parts as [number, number, KeyValue];
      yield { keyGroup, key, domain: TIME_DOMAINS[domain]!, timestamp };
    }
}

/**
 * Either state (`blocks`) or `timers`, block by block: an asynchronous step per entry would cost
 * more than decoding it.
 */
export async function* readBlocks(
  env: SnapshotEnvironment,
  part: KeyedPart,
  kind: 'blocks' | 'timers',
  range: KeyGroups,
): AsyncGenerator<StoredBlock, void> {
  const { data, snapshot } = part;
  const sections = sectionsIn(snapshot.keyed, kind, range);
  if (sections.length === 0) return;
  const what = kind === 'blocks' ? 'keyed state' : 'timers';
  const nameOf = ({ keyGroup }: KeyGroupSection): string =>
    `${what} of "${snapshot.name}", key group ${keyGroup}`;
  const reader = await StateDataReader.open(env, data);
  const blocks = new BlockReader();
  try {
    for await (const [{ keyGroup, count }, bytes] of reader.readAll(sections, nameOf))
      yield { keyGroup, entries: blocks.read(bytes, count) };
  } finally {
    await reader.close();
  }
}

function sectionsIn(
  keyed: KeyedSnapshot | null,
  kind: 'blocks' | 'timers',
  [first, last]: KeyGroups,
): readonly KeyGroupSection[] {
  if (keyed === null) return [];
  return keyed[kind].filter(({ keyGroup }) => first <= keyGroup && keyGroup <= last);
}
