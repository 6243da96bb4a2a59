/**
 * Brings the state of an earlier snapshot into fresh backends, before the first record. Each new
 * subtask reads from the old subtasks' data the sections of its own key groups, so parallelism may
 * have changed. Whatever is wrong with the bytes ends it; nothing is skipped silently.
 */
import { decodeValue } from '../../base/codec/value-codec.ts';
import { StateCorruptionError } from '../../base/errors.ts';
import { hashKey, keyGroupOf } from '../../base/key-groups.ts';
import type { KeyValue } from '../../api/functions.ts';
import type { OperatorRestore } from '../../protocol/messages.ts';
import type { StateHandle } from '../../protocol/snapshot.ts';
import type { HeapKeyedStateBackend } from '../heap/heap-keyed-state-backend.ts';
import type {
  OperatorStateBackend,
  RestoredOperatorState,
} from '../operator/operator-state-backend.ts';
import type { InternalTimers } from '../timers/internal-timers.ts';
import { readBlocks } from './read-keyed.ts';
import type { SnapshotEnvironment } from './state-data-reader.ts';
import { StateDataReader } from './state-data-reader.ts';

/**
 * Restores keyed state of the backend's key groups; to be called after all states are declared.
 * Resolves to warnings, one for each stored state that is declared no more and was dropped. Rejects
 * with `StateMigrationError` when a state was stored as another kind than it is declared.
 */
export async function restoreKeyed(
  env: SnapshotEnvironment,
  backend: HeapKeyedStateBackend,
  restores: OperatorRestore['keyed'],
  watchesTypes = false,
): Promise<readonly string[]> {
  const dropped = new Set<string>();
  for (const part of restores) {
    const stored = part.snapshot.keyed?.states ?? [];
    const slots = backend.slotsOf(stored, watchesTypes);
    for (const [i, { name }] of stored.entries()) if (slots[i] === null) dropped.add(name);
    const blocks = readBlocks(env, part, 'blocks', backend.keyGroups);
    for await (const { keyGroup, entries } of blocks)
      for (const parts of entries) {
        checkKeyGroup(parts[0] as KeyValue, keyGroup, backend);
        if (!backend.insert(parts, keyGroup, slots)) throw keyTwice(parts[0] as KeyValue, backend);
      }
  }
  return Array.from(
    dropped,
    (name) => `state "${name}" of ${backend.operatorName} is declared no more and was dropped`,
  );
}

/** Restores timers of the key groups of `timers`; overdue ones fire at the first turn. */
export async function restoreTimers(
  env: SnapshotEnvironment,
  timers: InternalTimers,
  restores: OperatorRestore['keyed'],
): Promise<void> {
  for (const part of restores)
    for await (const { entries } of readBlocks(env, part, 'timers', timers.keyGroups))
      for (const parts of entries) timers.insert(parts);
}

/** Restores operator state that was dealt out to this subtask; warnings as `restoreKeyed`. */
export async function restoreOperatorState(
  env: SnapshotEnvironment,
  backend: OperatorStateBackend,
  restores: OperatorRestore['operatorStates'],
  watchesTypes = false,
): Promise<readonly string[]> {
  const readers = new ReaderCache(env);
  try {
    const states: RestoredOperatorState[] = [];
    for (const { name, mode, items, version = 1, schema } of restores) {
      const decoded: unknown[] = [];
      for (const { data, section } of items) {
        const reader = await readers.get(data);
        const what = `state "${name}" of ${backend.operatorName}`;
        decoded.push(decodeValue(await reader.read(section, what)));
      }
      const type = schema === undefined ? { version } : { version, schema };
      states.push({ name, mode, ...type, items: decoded });
    }
    return backend.restore(states, watchesTypes);
  } finally {
    await readers.close();
  }
}

/** Items of many old subtasks come mixed: each subtask's data is opened once. */
class ReaderCache {
  readonly #env: SnapshotEnvironment;
  readonly #readers = new Map<string | StateHandle, StateDataReader>();

  constructor(env: SnapshotEnvironment) {
    this.#env = env;
  }

  async get(data: StateHandle): Promise<StateDataReader> {
    const id = data.kind === 'file' ? data.path : data;
    let reader = this.#readers.get(id);
    if (reader === undefined) {
      reader = await StateDataReader.open(this.#env, data);
      this.#readers.set(id, reader);
    }
    return reader;
  }

  async close(): Promise<void> {
    for (const reader of this.#readers.values()) await reader.close();
  }
}

/** A key in another group than its hash gives would never be found again by its records. */
function checkKeyGroup(key: KeyValue, keyGroup: number, backend: HeapKeyedStateBackend): void {
  const expected = keyGroupOf(hashKey(key), backend.maxParallelism);
  if (expected === keyGroup) return;
  throw new StateCorruptionError(
    `a key of ${backend.operatorName} is stored in key group ${keyGroup} and belongs to ` +
      `${expected} of ${backend.maxParallelism}; restore with the maximum parallelism of the ` +
      'snapshot',
    { details: { operator: backend.operatorName, key: String(key), keyGroup, expected } },
  );
}

function keyTwice(key: KeyValue, backend: HeapKeyedStateBackend): StateCorruptionError {
  return new StateCorruptionError(
    `key ${String(key)} of ${backend.operatorName} is in the snapshot twice; restore from ` +
      'another snapshot',
    { details: { operator: backend.operatorName, key: String(key) } },
  );
}
