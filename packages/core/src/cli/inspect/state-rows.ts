/**
 * The rows of one state of a snapshot, read without the job's code: keyed state by key, timers,
 * items of operator state, entries of broadcast state, and what a source's enumerator keeps. Rows
 * stream: memory does not grow with the state.
 */
import { decodeValue } from '../../base/codec/value-codec.ts';
import { JobSubmissionError } from '../../base/errors.ts';
import { didYouMean } from '../../base/nearest.ts';
import type { OperatorStateSnapshot, VertexSnapshot } from '../../protocol/snapshot.ts';
import { readBlocks, readTimers } from '../../state/snapshot/read-keyed.ts';
import { openSnapshotData } from '../../storage/snapshot-data-reader.ts';
import type { StorageIo } from '../../storage/storage-io.ts';
import type { StoredSnapshot } from '../../storage/stored-snapshot.ts';
import { partsOf, snapshotFacts } from './snapshot-facts.ts';
import type { OperatorPart, OperatorFacts } from './snapshot-facts.ts';

/** Names that stand for what is not a declared state. */
const TIMERS = 'timers';
const ENUMERATOR = 'enumerator';

export type StateRow =
  | { readonly key: unknown; readonly value: unknown }
  | { readonly subtask: number; readonly value: unknown }
  | { readonly key: unknown; readonly domain: string; readonly timestamp: number }
  | { readonly value: unknown };

/**
 * @param name `UID/NAME`: an operator by uid, id or unique name, and one of its states, or
 * `timers`, or `enumerator`.
 * @throws JobSubmissionError ARGUMENT_INVALID naming what there is, StateCorruptionError.
 */
export async function* stateRows(
  io: StorageIo,
  snapshot: StoredSnapshot,
  name: string,
): AsyncGenerator<StateRow, void> {
  for await (const rows of stateRowBatches(io, snapshot, name)) yield* rows;
}

/**
 * As `stateRows`, some rows at a time: an asynchronous step a row would cost more than all else.
 * A batch is to be gone through before the next is asked for.
 */
export async function* stateRowBatches(
  io: StorageIo,
  snapshot: StoredSnapshot,
  name: string,
): AsyncGenerator<Iterable<StateRow>, void> {
  const slash = name.lastIndexOf('/');
  if (slash <= 0) throw invalid(`--state ${name}: write UID/NAME, an operator and its state`);
  const operator = findOperator(snapshot, name.slice(0, slash));
  const stateName = name.slice(slash + 1);
  const { metadata, directory } = snapshot;
  const vertex = metadata.vertices.find(({ operatorIds }) =>
    operatorIds.some((id) => id === operator.id),
  )!;
  const place = { ...io, directory };
  const state = operator.states.find((one) => one.name === stateName);
  if (state?.scope === 'keyed') {
    yield* keyedRows(place, vertex, { operator, stateName });
  } else if (state?.scope === 'operator') {
    yield* operatorRows(place, vertex, { operator, stateName });
  } else if (stateName === TIMERS && operator.keys !== null) {
    yield* timerRows(place, vertex, operator);
  } else if (stateName === ENUMERATOR && operator.enumeratorBytes !== null) {
    const coordinator = metadata.coordinators.find((one) => one.operatorId === operator.id)!;
    yield [{ value: decodeValue(coordinator.bytes) }];
  } else {
    throw unknownState(operator, stateName);
  }
}

type SnapshotPlace = StorageIo & { readonly directory: string };

interface Wanted {
  readonly operator: OperatorFacts;
  readonly stateName: string;
}

async function* keyedRows(
  place: SnapshotPlace,
  vertex: VertexSnapshot,
  { operator, stateName }: Wanted,
): AsyncGenerator<Iterable<StateRow>, void> {
  for (const { data, operator: snapshot } of partsWithData(vertex, operator)) {
    const index = snapshot.keyed?.states.findIndex(({ name }) => name === stateName) ?? -1;
    if (index < 0) continue;
    const range = [0, vertex.maxParallelism - 1] as const;
    for await (const { entries } of readBlocks(place, { data, snapshot }, 'blocks', range))
      yield rowsOf(entries, index);
  }
}

/** An entry is a key, then index and content of each state in turn. */
function* rowsOf(entries: Iterable<readonly unknown[]>, index: number): Generator<StateRow, void> {
  for (const parts of entries)
    for (let i = 1; i < parts.length; i += 2)
      if (parts[i] === index) yield { key: parts[0], value: parts[i + 1] };
}

async function* timerRows(
  place: SnapshotPlace,
  vertex: VertexSnapshot,
  operator: OperatorFacts,
): AsyncGenerator<Iterable<StateRow>, void> {
  for (const part of partsWithData(vertex, operator)) {
    const range = [0, vertex.maxParallelism - 1] as const;
    const timers = readTimers(place, part.data, part.operator, range);
    for await (const { key, domain, timestamp } of timers) yield [{ key, domain, timestamp }];
  }
}

async function* operatorRows(
  place: SnapshotPlace,
  vertex: VertexSnapshot,
  { operator, stateName }: Wanted,
): AsyncGenerator<Iterable<StateRow>, void> {
  for (const part of partsWithData(vertex, operator)) {
    const state = part.operator.operatorStates.find(({ name }) => name === stateName);
    if (state === undefined || state.items.length === 0) continue;
    const reader = await openSnapshotData(place, place.directory, part.data);
    try {
      for (const item of state.items) {
        const value = decodeValue(await reader.read(item));
        yield [operatorRow(state.mode, value, part.subtask.subtask)];
      }
    } finally {
      await reader.close();
    }
    // Broadcast state is the same in every subtask.
    if (state.mode === 'broadcast') return;
  }
}

/** An item of broadcast state is an entry. */
function operatorRow(
  mode: OperatorStateSnapshot['mode'],
  item: unknown,
  subtask: number,
): StateRow {
  if (mode !== 'broadcast') return { subtask, value: item };
  const [key, value] = item as readonly [unknown, unknown];
  return { key, value };
}

type PartWithData = OperatorPart & {
  readonly data: NonNullable<OperatorPart['subtask']['data']>;
};

function partsWithData(vertex: VertexSnapshot, { id }: OperatorFacts): readonly PartWithData[] {
  return partsOf(vertex, id).flatMap((part) => {
    const { data } = part.subtask;
    return data === null ? [] : [{ ...part, data }];
  });
}

function findOperator(snapshot: StoredSnapshot, name: string): OperatorFacts {
  const { operators } = snapshotFacts(snapshot);
  const found =
    operators.find(({ uid }) => uid === name) ??
    operators.find(({ id }) => id === name) ??
    unique(operators.filter((operator) => operator.name === name));
  if (found !== undefined) return found;
  const known = operators.map(({ uid, id }) => uid ?? id);
  throw invalid(
    `the snapshot has no operator "${name}"${didYouMean(name, known)}; it has ${known.join(', ')}`,
  );
}

function unique<T>(values: readonly T[]): T | undefined {
  return values.length === 1 ? values[0] : undefined;
}

function unknownState(operator: OperatorFacts, stateName: string): JobSubmissionError {
  const known = [
    ...operator.states.map(({ name }) => name),
    ...(operator.keys === null ? [] : [TIMERS]),
    ...(operator.enumeratorBytes === null ? [] : [ENUMERATOR]),
  ];
  const what = known.length === 0 ? 'no state' : `only ${known.join(', ')}`;
  const name = operator.uid ?? operator.name;
  return invalid(`operator "${name}" has no state "${stateName}", it has ${what}`);
}

function invalid(message: string): JobSubmissionError {
  return new JobSubmissionError(message, { code: 'ARGUMENT_INVALID' });
}
