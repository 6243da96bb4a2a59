/**
 * The table of one keyed operator: one entry per key, with a slot per declared state. `select`
 * looks a key up once per record; handles then read and write slots of the current entry in place.
 * An entry comes into being with the first write and goes with its last state, so a key without
 * state costs nothing. What snapshots need is in `lazy-snapshots.ts`: touching an entry settles it,
 * and selecting counts as touching, since users may mutate what they read.
 */
import type { KeyValue } from '../../api/functions.ts';
import {
  SerializationError,
  UserFunctionError,
  isWeirError,
  messageOf,
} from '../../base/errors.ts';
import { checkArrivedKey, checkOwnKeyGroup, hashKey, keyGroupOf } from '../../base/key-groups.ts';
import type { KeyedStateMeta } from '../../protocol/snapshot.ts';
import type { KeyedSnapshotCursor, SectionOutput } from '../keyed-state-backend.ts';
import type { SnapshotSource } from '../lazy-snapshots.ts';
import { LazySnapshots } from '../lazy-snapshots.ts';
import type { MapKey } from '../map-key.ts';
import { mapKeyOf, withTupleKeys } from '../map-key.ts';
import { EMPTY, Entry } from './entry.ts';
import { NumberEntry } from './number-entry.ts';
import { NUMBER_SLOTS_MAX, NumberTable } from './number-table.ts';
import { Unmigrated } from './unmigrated.ts';

/** Below that of every snapshot: such an entry counts as outdated, and touching it migrates it. */
const UNMIGRATED_VERSION = -1;

/** A step of a snapshot ends after so many entries or bytes. */
const STEP_ENTRIES = 32;
const STEP_BYTES = 4096;

/** Before so many entries of numbers were given something else, that says nothing. */
const MISFITS_MIN = 1000;

/** A `Map` takes no more entries than this. */
const MAP_ENTRIES_MAX = 2 ** 24 - 1;

export interface EntryTableOptions {
  readonly maxParallelism: number;
  /** First and last key group of the subtask, both included. */
  readonly keyGroups: readonly [number, number];
  /** For messages. */
  readonly operatorName: string;
  /** Fewer than a `Map` takes only in tests. */
  readonly entriesPerMap?: number;
}

export class EntryTable {
  /** Entry of the current key; null when it has no state yet, or when no key is current. */
  current: Entry | NumberEntry | null = null;
  /** One per slot. */
  readonly states: KeyedStateMeta[] = [];
  readonly #options: EntryTableOptions;
  readonly #snapshots = new LazySnapshots();
  /** An entry as it is stored: the key, then index and content of each state. Used again. */
  readonly #parts: unknown[] = [];
  readonly #entriesPerMap: number;
  /** More than one only beyond what a single `Map` can hold. */
  readonly #maps: Map<MapKey, Entry>[] = [new Map()];
  #first: Map<MapKey, Entry>;
  #size = 0;
  /** Entries of nothing but numbers under whole numbers; null until there is one. */
  #numbers: NumberTable | null = null;
  #number: NumberEntry | null = null;
  /** Entries that were of numbers, until they were given something else. */
  #misfits = 0;
  #key: KeyValue | null = null;

  constructor(options: EntryTableOptions) {
    this.#options = options;
    this.#entriesPerMap = options.entriesPerMap ?? MAP_ENTRIES_MAX;
    this.#first = this.#maps[0]!;
  }

  get size(): number {
    return this.#size + (this.#numbers?.size ?? 0);
  }

  get key(): KeyValue {
    if (this.#key === null) throw this.#noKey();
    return this.#key;
  }

  /** The same, unless it is a key of another subtask: then it throws. */
  get ownKey(): KeyValue {
    const { key } = this;
    if (this.current === null) this.#ownKeyGroup(key);
    return key;
  }

  /** Makes a key current. */
  select(key: KeyValue): void {
    // Almost every key is text or a small integer: those may always be keys.
    if (typeof key !== 'string' && (typeof key !== 'number' || (key | 0) !== key))
      checkArrivedKey(key, this.#options.operatorName);
    const entry = this.#find(key);
    this.#key = key;
    this.current = entry;
    if (entry !== null && entry.version !== this.#snapshots.version) this.#settleTouched(entry);
  }

  deselect(): void {
    this.#key = null;
    this.current = null;
  }

  /** Content of a slot of the current key. */
  read(slot: number): unknown {
    const entry = this.current;
    if (entry !== null) return entry.get(slot);
    if (this.#key === null) throw this.#noKey();
    return EMPTY;
  }

  write(slot: number, content: unknown): void {
    let entry = this.current ?? this.#create(content);
    if (entry === this.#number && typeof content !== 'number') entry = this.#generalise(entry);
    entry.set(slot, content);
  }

  /** Empties a slot; an entry without any state goes. */
  clear(slot: number): void {
    if (this.read(slot) === EMPTY) return;
    const entry = this.current!;
    entry.set(slot, EMPTY);
    if (!entry.isEmpty()) return;
    this.#remove(entry);
    this.current = null;
  }

  /** Puts in an entry of an earlier snapshot. `false` when the key has one already. */
  insert(key: KeyValue, keyGroup: number, contents: readonly unknown[]): boolean {
    if (this.#find(key) !== null) return false;
    let { version } = this.#snapshots;
    let areNumbers = true;
    for (let slot = 0; slot < contents.length; slot++) {
      const content = contents[slot];
      if (typeof content === 'number' || content === EMPTY) continue;
      areNumbers = false;
      if (content instanceof Unmigrated) version = UNMIGRATED_VERSION;
    }
    const entry = this.#add(areNumbers, key, { keyGroup, version });
    for (let slot = 0; slot < contents.length; slot++)
      if (contents[slot] !== EMPTY) entry.set(slot, contents[slot]);
    return true;
  }

  startSnapshot(output: SectionOutput): KeyedSnapshotCursor {
    this.deselect();
    const source: SnapshotSource = {
      itemCount: this.size,
      keyGroups: this.#options.keyGroups,
      settleSome: this.#settleAll(),
      explain: (error, parts) => this.#cannotStore(error, parts),
    };
    return this.#snapshots.start(source, output);
  }

  /** Settles some entries a call. Entries put in or removed meanwhile need not be seen. */
  #settleAll(): (entriesMax: number) => number {
    let place = 0;
    let index = 0;
    let entries = this.#first.values();
    return (entriesMax) => {
      const places = Math.min(entriesMax, STEP_ENTRIES, (this.#numbers?.end ?? 0) - place);
      if (places > 0) {
        this.#settleNumbers(place, place + places);
        place += places;
        return places;
      }
      for (;;) {
        const count = this.#settleSome(entries, Math.min(entriesMax, STEP_ENTRIES));
        const next = this.#maps[index + 1];
        if (count > 0 || next === undefined) return count;
        entries = next.values();
        index++;
      }
    };
  }

  #settleNumbers(first: number, end: number): void {
    const entry = this.#number!;
    const { place } = entry;
    for (entry.place = first; entry.place < end; entry.place++)
      if (!entry.isEmpty() && entry.version !== this.#snapshots.version) this.#settle(entry);
    // It may be current.
    entry.place = place;
  }

  #settleSome(entries: Iterator<Entry>, entriesMax: number): number {
    let sizeBytes = 0;
    let count = 0;
    while (count < entriesMax && sizeBytes < STEP_BYTES) {
      const { done, value: entry } = entries.next();
      if (done === true) break;
      if (entry.version !== this.#snapshots.version) sizeBytes += this.#settle(entry);
      count++;
    }
    return count;
  }

  /** Gives the bytes it was encoded into. */
  #settle(entry: Entry | NumberEntry): number {
    let sizeBytes = 0;
    if (entry.version === UNMIGRATED_VERSION) this.#migrate(entry);
    if (this.#snapshots.isWanted(entry.version))
      sizeBytes = this.#snapshots.add(entry.version, entry.keyGroup, this.#partsOf(entry));
    entry.version = this.#snapshots.version;
    return sizeBytes;
  }

  #settleTouched(entry: Entry | NumberEntry): void {
    if (entry.version === UNMIGRATED_VERSION) this.#migrate(entry);
    if (this.#snapshots.isWanted(entry.version))
      this.#snapshots.addTouched(entry.version, entry.keyGroup, this.#partsOf(entry));
    entry.version = this.#snapshots.version;
  }

  /** As it is stored; valid until the next. */
  #partsOf(entry: Entry | NumberEntry): readonly unknown[] {
    const parts = this.#parts;
    let length = 0;
    parts[length++] = entry.key;
    for (let slot = 0; slot < this.states.length; slot++) {
      const content = entry.get(slot);
      if (content === EMPTY) continue;
      const isMap = this.states[slot]!.kind === 'map';
      parts[length++] = slot;
      parts[length++] = isMap ? withTupleKeys(content as Map<MapKey, unknown>) : content;
    }
    if (parts.length !== length) parts.length = length;
    return parts;
  }

  /** Before anything sees it: neither a record nor a snapshot meets the type of an older job. */
  #migrate(entry: Entry | NumberEntry): void {
    for (let slot = 0; slot < this.states.length; slot++) {
      const content = entry.get(slot);
      if (content instanceof Unmigrated)
        entry.set(slot, content.migrate(` under key ${String(entry.key)}`));
    }
  }

  #create(content: unknown): Entry | NumberEntry {
    if (this.#key === null) throw this.#noKey();
    // Zero has two signs, but is one key.
    const key = this.#key === 0 ? 0 : copyOf(this.#key);
    const keyGroup = this.#ownKeyGroup(key);
    const { version } = this.#snapshots;
    const entry = this.#add(typeof content === 'number', key, { keyGroup, version });
    this.current = entry;
    return entry;
  }

  #ownKeyGroup(key: KeyValue): number {
    const { keyGroups, maxParallelism, operatorName: operator } = this.#options;
    const keyGroup = keyGroupOf(hashKey(key), maxParallelism);
    checkOwnKeyGroup(keyGroup, keyGroups, { key, operator });
    return keyGroup;
  }

  #find(key: KeyValue): Entry | NumberEntry | null {
    const numbers = this.#numbers;
    if (numbers !== null && typeof key === 'number' && (key | 0) === key) {
      const place = numbers.find(key);
      if (place >= 0) {
        const entry = this.#number!;
        entry.place = place;
        return entry;
      }
      if (this.#size === 0) return null;
    }
    const mapKey = mapKeyOf(key);
    return this.#first.get(mapKey) ?? this.#findBeyondFirst(mapKey);
  }

  #add(
    areNumbers: boolean,
    key: KeyValue,
    { keyGroup, version }: Pick<Entry, 'keyGroup' | 'version'>,
  ): Entry | NumberEntry {
    if (areNumbers && typeof key === 'number' && (key | 0) === key && this.#takesNumbers()) {
      this.#numbers ??= new NumberTable(this.states.length);
      this.#number ??= new NumberEntry(this.#numbers);
      this.#number.place = this.#numbers.add(key, keyGroup, version);
      return this.#number;
    }
    const entry = new Entry(key, keyGroup, version);
    this.#put(mapKeyOf(key), entry);
    return entry;
  }

  /** Not where most entries would not stay so. */
  #takesNumbers(): boolean {
    const size = this.#numbers?.size ?? 0;
    if (this.#misfits > MISFITS_MIN && this.#misfits > size) return false;
    return this.states.length <= NUMBER_SLOTS_MAX && this.#numbers?.isFull !== true;
  }

  /** Puts an object in the place of the entry of numbers that is current. */
  #generalise(from: NumberEntry): Entry {
    const { key, keyGroup, version, timerMark } = from;
    const entry = new Entry(key, keyGroup, version);
    entry.timerMark = timerMark;
    for (let slot = 0; slot < this.states.length; slot++) entry.set(slot, from.get(slot));
    this.#numbers!.remove(from.place);
    this.#put(mapKeyOf(key), entry);
    this.#misfits++;
    this.current = entry;
    return entry;
  }

  #put(mapKey: MapKey, entry: Entry): void {
    this.#size++;
    if (this.#first.size < this.#entriesPerMap) {
      this.#first.set(mapKey, entry);
      return;
    }
    let map = this.#maps.find((each) => each.size < this.#entriesPerMap);
    if (map === undefined) {
      map = new Map();
      this.#maps.push(map);
    }
    map.set(mapKey, entry);
  }

  #remove(entry: Entry | NumberEntry): void {
    if (entry instanceof NumberEntry) {
      this.#numbers!.remove(entry.place);
      return;
    }
    const mapKey = mapKeyOf(entry.key);
    for (const map of this.#maps) if (map.delete(mapKey)) break;
    this.#size--;
  }

  #findBeyondFirst(mapKey: MapKey): Entry | null {
    for (let i = 1; i < this.#maps.length; i++) {
      const entry = this.#maps[i]!.get(mapKey);
      if (entry !== undefined) return entry;
    }
    return null;
  }

  /** Tells whose state cannot be encoded; the codec knows its place only within `parts`. */
  #cannotStore(error: unknown, parts: readonly unknown[]): Error {
    const place = isWeirError(error) ? error.details['place'] : undefined;
    const [, index, within] = /^\[(\d+)\](.*)$/s.exec(String(place)) ?? [];
    const state = index === undefined ? undefined : this.states[parts[Number(index) - 1] as number];
    const { operatorName } = this.#options;
    const subject = state === undefined ? 'state' : `state "${state.name}"`;
    const inState =
      within === undefined || within === '' ? '' : ` (at ${within.replace(/^\./, '')})`;
    const reason = messageOf(error).replace(` (at ${String(place)})`, inState);
    return new SerializationError(
      `${subject} of ${operatorName} under key ${String(parts[0])}: ${reason}`,
      {
        details: {
          operator: operatorName,
          state: state?.name,
          key: String(parts[0]),
          place: within,
        },
        cause: error,
      },
    );
  }

  #noKey(): UserFunctionError {
    const { operatorName } = this.#options;
    return new UserFunctionError(
      `keyed state of ${operatorName} was used while no key is current; use it in onElement and ` +
        'onTimer, not in open, close, on the broadcast side or in a later callback',
      { details: { operator: operatorName } },
    );
  }
}

/** A tuple may be an array of the record, which is not ours: changed, it would be another key. */
function copyOf(key: KeyValue): KeyValue {
  return typeof key === 'object' ? key.map(copyOf) : key;
}
