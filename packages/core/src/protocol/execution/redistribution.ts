/**
 * How an operator's state is shared out among another number of subtasks, by Flink's rules.
 *
 * - Keyed state and timers go to whoever owns their key groups now.
 * - List state: all items in the order of the old subtasks, cut into runs of even length; the
 *   longer runs of the next state begin with the subtask where those of this one ended, so that
 *   many short lists do not all fall to the first. At the same parallelism each keeps its own.
 * - Union list state: every item to every subtask.
 * - Broadcast state: all copies are equal, so subtask i takes that of the old subtask i mod old; if
 *   some have none, since they had finished, only those that have one count.
 */
import { assert } from '../../base/assert.ts';
import { keyGroupRange } from '../../base/key-groups.ts';
import type { OperatorRestore } from '../messages.ts';
import type { Section, StateHandle } from '../snapshot.ts';
import type { StoredOperator, StoredPart } from './stored-operators.ts';

type OperatorStateRestore = OperatorRestore['operatorStates'][number];
type Item = OperatorStateRestore['items'][number];
type KeyedRestore = OperatorRestore['keyed'][number];

/** A state by name; `shares` by old subtask, `null` where it was not stored. */
interface StoredState {
  readonly name: string;
  readonly mode: OperatorStateRestore['mode'];
  readonly type: Pick<OperatorStateRestore, 'version' | 'schema'>;
  readonly shares: (readonly Item[] | null)[];
}

export interface Parallelism {
  readonly parallelism: number;
  readonly maxParallelism: number;
}

/** What each of the new subtasks restores of this operator. */
export function redistribute(
  stored: StoredOperator,
  { parallelism, maxParallelism }: Parallelism,
): readonly OperatorRestore[] {
  const operatorStates = redistributeOperatorStates(stored.parts, parallelism);
  return operatorStates.map((states, subtask) => ({
    operatorId: stored.operatorId,
    keyed: keyedStateIn(stored.parts, keyGroupRange(maxParallelism, parallelism, subtask)),
    operatorStates: states,
  }));
}

function keyedStateIn(
  parts: readonly (StoredPart | null)[],
  [first, last]: readonly [number, number],
): readonly KeyedRestore[] {
  const isInRange = ({ keyGroup }: { readonly keyGroup: number }): boolean =>
    keyGroup >= first && keyGroup <= last;
  return parts.flatMap((part): KeyedRestore[] => {
    const keyed = part?.snapshot.keyed ?? null;
    if (part === null || keyed === null) return [];
    if (!keyed.blocks.some(isInRange) && !keyed.timers.some(isInRange)) return [];
    return [{ data: dataOf(part), snapshot: part.snapshot }];
  });
}

function redistributeOperatorStates(
  parts: readonly (StoredPart | null)[],
  parallelism: number,
): readonly (readonly OperatorStateRestore[])[] {
  const subtasks = Array.from({ length: parallelism }, (): OperatorStateRestore[] => []);
  let firstOfLonger = 0;
  for (const { name, mode, type, shares } of statesOf(parts)) {
    const all = shares.flatMap((share) => share ?? []);
    const runs =
      mode === 'list' && parts.length !== parallelism
        ? evenRuns(all, parallelism, firstOfLonger)
        : null;
    if (runs !== null) firstOfLonger = (firstOfLonger + all.length) % parallelism;
    for (const [subtask, states] of subtasks.entries()) {
      const items =
        mode === 'union'
          ? all
          : mode === 'broadcast'
            ? broadcastShare(shares, subtask, parallelism)
            : ((runs ?? shares)[subtask] ?? []);
      states.push({ name, mode, ...type, items });
    }
  }
  return subtasks;
}

/** Cuts the items into one run per subtask; those from `firstOfLonger` on are longer by one. */
function evenRuns(
  items: readonly Item[],
  parallelism: number,
  firstOfLonger: number,
): readonly (readonly Item[])[] {
  const length = Math.floor(items.length / parallelism);
  const remainder = items.length % parallelism;
  const runs: (readonly Item[])[] = Array.from({ length: parallelism }, () => []);
  let at = 0;
  for (let i = 0; i < parallelism; i++) {
    const end = at + length + (i < remainder ? 1 : 0);
    runs[(firstOfLonger + i) % parallelism] = items.slice(at, end);
    at = end;
  }
  return runs;
}

function broadcastShare(
  shares: readonly (readonly Item[] | null)[],
  subtask: number,
  parallelism: number,
): readonly Item[] {
  const own = shares.length === parallelism ? (shares[subtask] ?? null) : null;
  if (own !== null) return own;
  const stored = shares.filter((share) => share !== null);
  return stored[subtask % stored.length] ?? [];
}

/** The states of an operator in the order in which its subtasks name them. */
function statesOf(parts: readonly (StoredPart | null)[]): readonly StoredState[] {
  const states = new Map<string, StoredState>();
  for (const [subtask, part] of parts.entries()) {
    for (const { name, mode, items, version, schema } of part?.snapshot.operatorStates ?? []) {
      const key = `${mode} ${name}`;
      let state = states.get(key);
      if (state === undefined) {
        const type = {
          ...(version === undefined ? {} : { version }),
          ...(schema === undefined ? {} : { schema }),
        };
        state = { name, mode, type, shares: parts.map(() => null) };
        states.set(key, state);
      }
      state.shares[subtask] = items.map((section) => itemOf(part, section));
    }
  }
  return [...states.values()];
}

function itemOf(part: StoredPart | null, section: Section): Item {
  assert(part !== null, 'an item belongs to a stored part');
  return { data: dataOf(part), section };
}

function dataOf({ data, snapshot }: StoredPart): StateHandle {
  assert(
    data !== null,
    `the snapshot names state of "${snapshot.name}", but no data that holds it`,
  );
  return data;
}
