/**
 * Whether the state of one operator in a checkpoint is what it took of its inputs before the
 * barrier, and what of that it still holds back. Of an operator whose subtasks have finished in
 * part nothing can be said; what they held back they have given away.
 */
import type { OperatorSpec } from '../jobs/job-spec.ts';
import { addToWindow, stepOf } from '../jobs/recount.ts';
import type { Counted, WindowSum } from '../jobs/recount.ts';
import type { SimulatedRecord } from '../jobs/simulated-record.ts';
import { difference } from './difference.ts';
import type { OperatorContents } from './snapshot-contents.ts';

export interface StoredState {
  readonly state: OperatorContents;
  /** Else there may be more in it, and never less. */
  readonly isExact: boolean;
  /** Event time was never lost by a restore at another parallelism. */
  readonly keepsEventTime: boolean;
}

/** What is wrong, or `null`. */
export function checkState(
  spec: OperatorSpec,
  [first = [], second = []]: readonly (readonly Counted[])[],
  stored: StoredState,
): string | null {
  if (stored.state.isPartial) return null;
  switch (spec.kind) {
    case 'count':
      return checkCount(first, stored);
    case 'aggregate':
      return checkTotals(first, stored, (states) => (Object.values(states)[0] as { n: number }).n);
    case 'join':
      return checkTotals([...first, ...second], stored, ({ count }) => count as number);
    case 'window':
      return checkWindows(spec, first, stored);
    case 'hold':
      return checkHeld(first, stored);
    case 'session':
      return checkSession(first, stored);
    case 'buffer':
      return checkBuffered(first, stored);
    case 'owners':
      return checkOwners(first, stored);
    case 'rules':
      return checkRules(second, stored);
    default:
      return null;
  }
}

/** Ids of records, and windows as `key end`, that the operator has taken and not given on. */
export function heldBack(
  { kind }: OperatorSpec,
  state: OperatorContents,
): { readonly ids: ReadonlySet<string>; readonly windows: ReadonlySet<string> | null } {
  const ids = new Set<string>();
  if (kind === 'hold' || kind === 'session') for (const { id } of heldIn(state)) ids.add(id);
  if (kind === 'buffer') for (const { id } of bufferedIn(state)) ids.add(id);
  if (kind !== 'window') return { ids, windows: null };
  const windows = new Set<string>();
  for (const { key, states } of state.rows)
    for (const end of windowsOf(states).keys()) windows.add(`${String(key)} ${end}`);
  return { ids, windows };
}

function checkCount(input: readonly Counted[], { state, isExact }: StoredState): string | null {
  const seen: string[] = [];
  for (const { key, states } of state.rows) {
    const numbers = (states.seen ?? new Map()) as ReadonlyMap<string, number>;
    seen.push(...numbers.keys());
    if (!isExact) continue;
    if (states.count !== numbers.size || states.total !== numbers.size)
      return `counted ${String(states.count)} under key ${String(key)}, of ${numbers.size} records`;
    if (new Set(numbers.values()).size !== numbers.size)
      return `gave a number twice under key ${String(key)}`;
  }
  return difference(idsOf(input), seen, isExact);
}

function checkTotals(
  input: readonly Counted[],
  { state, isExact }: StoredState,
  countIn: (states: Readonly<Record<string, unknown>>) => number,
): string | null {
  const expected = new Map<number, number>();
  for (const { key } of input) expected.set(key, (expected.get(key) ?? 0) + 1);
  const actual = new Map(state.rows.map(({ key, states }) => [Number(key), countIn(states)]));
  for (const key of new Set([...expected.keys(), ...actual.keys()])) {
    const [wanted, found] = [expected.get(key) ?? 0, actual.get(key) ?? 0];
    if (isExact ? wanted === found : wanted <= found) continue;
    return `counted ${found} under key ${key}, of ${wanted} records`;
  }
  return null;
}

function checkWindows(
  { size }: OperatorSpec,
  input: readonly Counted[],
  { state, isExact, keepsEventTime }: StoredState,
): string | null {
  if (!isExact) return null;
  const expected = new Map<string, WindowSum>();
  for (const { id, key, ts } of input) {
    const place = `${key} ${stepOf.windowEnd(ts, size)}`;
    expected.set(place, addToWindow(expected.get(place) ?? { count: 0, hash: 0 }, id));
  }
  const timers = new Set(
    state.timers.map(({ key, timestamp }) => `${String(key)} ${timestamp + 1}`),
  );
  let windows = 0;
  for (const { key, states } of state.rows)
    for (const [end, sum] of windowsOf(states)) {
      const place = `${String(key)} ${end}`;
      const wanted = expected.get(place);
      windows++;
      if (wanted?.count !== sum.count || wanted.hash !== sum.hash)
        return `holds ${sum.count} records of window ${place}, of ${wanted?.count ?? 0}`;
      if (!timers.has(place)) return `holds window ${place} without a timer`;
      expected.delete(place);
    }
  for (const place of expected.keys())
    if (keepsEventTime && Number(place.split(' ')[1]) - 1 > state.watermark)
      return `has ended window ${place}, and its watermark is ${state.watermark}`;
  return timers.size === windows ? null : `has ${timers.size} timers for ${windows} windows`;
}

function checkHeld(input: readonly Counted[], { state, isExact }: StoredState): string | null {
  const timers = new Map<string, Set<string>>();
  for (const { key, domain } of state.timers) {
    const domains = timers.get(String(key)) ?? new Set();
    timers.set(String(key), domains.add(domain));
  }
  for (const { key, states } of state.rows) {
    if (((states.held ?? []) as readonly unknown[]).length === 0) continue;
    const domains = timers.get(String(key))?.size ?? 0;
    if (domains < 2)
      return `holds records under key ${String(key)} with ${domains} of its 2 timers`;
  }
  return isExact ? notOf(input, heldIn(state)) : null;
}

/** The one timer that was not taken back, while there is something to give away. */
function checkSession(input: readonly Counted[], { state, isExact }: StoredState): string | null {
  const timers = new Map<string, number[]>();
  for (const { key, domain, timestamp } of state.timers)
    if (domain === 'processing')
      timers.set(String(key), [...(timers.get(String(key)) ?? []), timestamp]);
  for (const { key, states } of state.rows) {
    const set = (timers.get(String(key)) ?? []).join();
    const due = typeof states.due === 'number' ? String(states.due) : '';
    if (set !== due) return `has timers [${set}] under key ${String(key)}, not [${due}]`;
  }
  return isExact ? notOf(input, heldIn(state)) : null;
}

/** Of all subtasks together, since each writes on a part of what all of them were given. */
function checkOwners(input: readonly Counted[], { state, isExact }: StoredState): string | null {
  const owners = (state.lists.get('owners') ?? []).flat() as string[];
  const fault = difference(idsOf(input), owners, isExact);
  return fault === null ? null : `${fault} in its union state`;
}

function checkBuffered(input: readonly Counted[], { state, isExact }: StoredState): string | null {
  return isExact ? notOf(input, bufferedIn(state)) : null;
}

/** All subtasks have taken every record of the broadcast side. */
function checkRules(input: readonly Counted[], { state, isExact }: StoredState): string | null {
  for (const items of state.lists.get('rules') ?? []) {
    const entries = items as readonly (readonly [string, number])[];
    const fault = difference(
      idsOf(input),
      entries.map(([id]) => id),
      isExact,
    );
    if (fault !== null) return `${fault} in its broadcast state`;
  }
  return null;
}

function notOf(input: readonly Counted[], held: readonly SimulatedRecord[]): string | null {
  const known = new Set(idsOf(input));
  const strange = held.filter(({ id }) => !known.has(id));
  if (strange.length > 0) return `holds ${strange[0]?.id} from behind the barrier`;
  const twice = new Set(held.map(({ id }) => id)).size < held.length;
  return twice ? 'holds a record twice' : null;
}

function heldIn({ rows }: OperatorContents): readonly SimulatedRecord[] {
  return rows.flatMap(({ states }) => (states.held ?? []) as readonly SimulatedRecord[]);
}

function bufferedIn({ lists }: OperatorContents): readonly SimulatedRecord[] {
  return (lists.get('buffered') ?? []).flat() as SimulatedRecord[];
}

function windowsOf(states: Readonly<Record<string, unknown>>): ReadonlyMap<number, WindowSum> {
  return (states.sums ?? new Map()) as ReadonlyMap<number, WindowSum>;
}

function idsOf(records: readonly Counted[]): readonly string[] {
  return records.map(({ id }) => id);
}
