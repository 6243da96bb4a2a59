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

/** An entry as it is stored, with its key group. */
export type StoredEntry = readonly [keyGroup: number, parts: readonly unknown[]];

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
  for await (const [keyGroup, parts] of readEntries(env, { data, snapshot }, 'blocks', range)) {
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
  for await (const [keyGroup, parts] of readEntries(env, { data, snapshot }, 'timers', range)) {
    const [domain, timestamp, key] = parts as [number, number, KeyValue];
    yield { keyGroup, key, domain: TIME_DOMAINS[domain]!, timestamp };
  }
}

/** Entries as they are stored, either of state (`blocks`) or of `timers`. */
export async function* readEntries(
  env: SnapshotEnvironment,
  part: KeyedPart,
  kind: 'blocks' | 'timers',
  range: KeyGroups,
): AsyncGenerator<StoredEntry, void> {
  const { data, snapshot } = part;
  const sections = sectionsIn(snapshot.keyed, kind, range);
  if (sections.length === 0) return;
  const what = kind === 'blocks' ? 'keyed state' : 'timers';
  const nameOf = ({ keyGroup }: KeyGroupSection): string =>
    `${what} of "${snapshot.name}", key group ${keyGroup}`;
  const reader = await StateDataReader.open(env, data);
  const blocks = new BlockReader();
  try {
    for await (const [section, bytes] of reader.readAll(sections, nameOf))
      for (const parts of blocks.read(bytes, section.count)) yield [section.keyGroup, parts];
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
