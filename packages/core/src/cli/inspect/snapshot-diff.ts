/**
 * In what two snapshots differ: operator by operator, state by state, key by key. Keyed state is
 * compared one key group at a time, so that memory holds a share of both and never the whole.
 */
import type { OperatorSnapshot, StateHandle, VertexSnapshot } from '../../protocol/snapshot.ts';
import { readBlocks, readTimers } from '../../state/snapshot/read-keyed.ts';
import type { StorageIo } from '../../storage/storage-io.ts';
import type { StoredSnapshot } from '../../storage/stored-snapshot.ts';
import { toJsonText } from './json-value.ts';
import { partsOf, snapshotFacts } from './snapshot-facts.ts';
import type { OperatorFacts } from './snapshot-facts.ts';
import { stateRows } from './state-rows.ts';

/** Contents as JSON text; `null` on a side that has none. */
export interface Difference {
  /** Uid, or else the id. */
  readonly operator: string;
  /** A state, or `timers`; `null`: the operator as a whole is on one side alone. */
  readonly state: string | null;
  /** As JSON text; `null` for operator state. */
  readonly key: string | null;
  readonly a: string | null;
  readonly b: string | null;
}

export async function* snapshotDiff(
  io: StorageIo,
  a: StoredSnapshot,
  b: StoredSnapshot,
): AsyncGenerator<Difference, void> {
  const inA = byId(a);
  const inB = byId(b);
  for (const id of new Set([...inA.keys(), ...inB.keys()])) {
    const ours = inA.get(id);
    const theirs = inB.get(id);
    const operator = nameOf(ours ?? theirs);
    if (ours === undefined || theirs === undefined) {
      const summary = JSON.stringify(`${(ours ?? theirs)?.keys ?? 0} keys`);
      const only = {
        a: ours === undefined ? null : summary,
        b: theirs === undefined ? null : summary,
      };
      yield { operator, state: null, key: null, ...only };
      continue;
    }
    yield* keyedDiff(operator, sideOf(io, a, ours), sideOf(io, b, theirs));
    yield* operatorStateDiff(
      io,
      operator,
      { snapshot: a, facts: ours },
      { snapshot: b, facts: theirs },
    );
  }
}

/** One operator in one snapshot. */
interface Side {
  readonly environment: StorageIo & { readonly directory: string };
  readonly maxParallelism: number;
  readonly parts: readonly { readonly stored: OperatorSnapshot; readonly data: StateHandle }[];
}

function sideOf(
  io: StorageIo,
  { metadata, directory }: StoredSnapshot,
  facts: OperatorFacts,
): Side {
  const vertex = metadata.vertices.find(({ operatorIds }) =>
    operatorIds.some((id) => id === facts.id),
  );
  return {
    environment: { ...io, directory },
    maxParallelism: facts.maxParallelism,
    parts: vertex === undefined ? [] : partsWithData(vertex, facts.id),
  };
}

function partsWithData(vertex: VertexSnapshot, id: string): Side['parts'] {
  return partsOf(vertex, id).flatMap(({ operator, subtask }) =>
    subtask.data === null ? [] : [{ stored: operator, data: subtask.data }],
  );
}

async function* keyedDiff(operator: string, a: Side, b: Side): AsyncGenerator<Difference, void> {
  // Keys lie in other groups under another number of them: then all are compared at once.
  const isAlike = a.maxParallelism === b.maxParallelism;
  const groups = isAlike ? a.maxParallelism : 1;
  for (let group = 0; group < groups; group++) {
    const range = isAlike ? ([group, group] as const) : null;
    const ours = await contentsOf(a, range);
    const theirs = await contentsOf(b, range);
    for (const [place, content] of ours) {
      const other = theirs.get(place) ?? null;
      theirs.delete(place);
      if (other !== content) yield differenceAt(operator, place, { a: content, b: other });
    }
    for (const [place, content] of theirs)
      yield differenceAt(operator, place, { a: null, b: content });
  }
}

/** By state and key, as JSON text. */
async function contentsOf(
  { environment, maxParallelism, parts }: Side,
  range: readonly [number, number] | null,
): Promise<Map<string, string>> {
  const contents = new Map<string, string>();
  const groups = range ?? ([0, maxParallelism - 1] as const);
  for (const { data, stored } of parts) {
    const states = stored.keyed?.states ?? [];
    const part = { data, snapshot: stored };
    for await (const { entries } of readBlocks(environment, part, 'blocks', groups))
      for (const [key, ...indexed] of entries) {
        const text = toJsonText(key);
        // Index and content of each state in turn.
        for (let i = 0; i < indexed.length; i += 2)
          contents.set(
            placeOf(states[indexed[i] as number]?.name ?? '', text),
            toJsonText(indexed[i + 1]),
          );
      }
    for await (const { key, domain, timestamp } of readTimers(environment, data, stored, groups))
      contents.set(placeOf(`timers at ${timestamp} (${domain})`, toJsonText(key)), 'true');
  }
  return contents;
}

/** No line ends within JSON text. */
function placeOf(state: string, key: string): string {
  return `${key}\n${state}`;
}

function differenceAt(
  operator: string,
  place: string,
  contents: Pick<Difference, 'a' | 'b'>,
): Difference {
  const end = place.indexOf('\n');
  return { operator, state: place.slice(end + 1), key: place.slice(0, end), ...contents };
}

interface StoredOperator {
  readonly snapshot: StoredSnapshot;
  readonly facts: OperatorFacts;
}

/** Items of lists have no place of their own: what counts is which there are, and how often. */
async function* operatorStateDiff(
  io: StorageIo,
  operator: string,
  a: StoredOperator,
  b: StoredOperator,
): AsyncGenerator<Difference, void> {
  const states = [...a.facts.states, ...b.facts.states].filter(({ scope }) => scope === 'operator');
  for (const state of new Set(states.map(({ name }) => name))) {
    const counts = new Map<string, number>();
    for (const [side, sign] of [
      [a, 1],
      [b, -1],
    ] as const) {
      if (!side.facts.states.some(({ name }) => name === state)) continue;
      for await (const row of stateRows(io, side.snapshot, `${side.facts.id}/${state}`)) {
        const item = 'key' in row ? row : { value: 'value' in row ? row.value : null };
        const text = toJsonText(item);
        counts.set(text, (counts.get(text) ?? 0) + sign);
      }
    }
    for (const [text, count] of counts)
      for (let left = Math.abs(count); left > 0; left--)
        yield {
          operator,
          state,
          key: null,
          a: count > 0 ? text : null,
          b: count > 0 ? null : text,
        };
  }
}

function byId(snapshot: StoredSnapshot): Map<string, OperatorFacts> {
  return new Map(snapshotFacts(snapshot).operators.map((facts) => [facts.id, facts]));
}

function nameOf(facts: OperatorFacts | undefined): string {
  return facts?.uid ?? facts?.id ?? '';
}
