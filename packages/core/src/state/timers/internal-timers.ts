/**
 * Timers of one keyed operator in one subtask, in event time and in processing time. They are
 * state: part of every snapshot by key group, and restored with their original times, so that what
 * fell due meanwhile fires at once. Whoever owns the operator advances both times; nothing here
 * waits.
 */
import type { KeyValue, TimerService } from '../../api/functions.ts';
import type { Clock } from '../../base/clock.ts';
import { UserFunctionError } from '../../base/errors.ts';
import { hashKey, keyGroupOf } from '../../base/key-groups.ts';
import { MIN_WATERMARK } from '../../base/records.ts';
import type { KeyedSnapshotCursor, SectionOutput } from '../keyed-state-backend.ts';
import type { SnapshotSource } from '../lazy-snapshots.ts';
import { LazySnapshots } from '../lazy-snapshots.ts';
import type { MapKey } from '../map-key.ts';
import { keyOfMapKey } from '../map-key.ts';
import type { FireTimer } from './timer-queue.ts';
import { TimerQueue } from './timer-queue.ts';

export type TimeDomain = 'event' | 'processing';

/** In snapshots a domain is its index here. */
export const TIME_DOMAINS: readonly TimeDomain[] = ['event', 'processing'];

export interface InternalTimersOptions {
  readonly maxParallelism: number;
  /** First and last key group of the subtask, both included. */
  readonly keyGroups: readonly [number, number];
}

/** The keys a service works on, and a mark that may be left with the current one. */
export interface TimerKeys {
  readonly currentKey: KeyValue;
  /** The same; throws when it is a key of another subtask. */
  readonly ownKey: KeyValue;
  /** What was set for this key before, or null, also when it was forgotten. */
  timerMark: object | null;
}

export class InternalTimers {
  readonly keyGroups: readonly [number, number];
  readonly maxParallelism: number;
  readonly #snapshots = new LazySnapshots();
  readonly #queues: Readonly<Record<TimeDomain, TimerQueue>>;
  #watermark: number = MIN_WATERMARK;

  constructor(options: InternalTimersOptions) {
    this.keyGroups = options.keyGroups;
    this.maxParallelism = options.maxParallelism;
    const queueOf = (domain: number): TimerQueue =>
      new TimerQueue((timestamp, mapKey, version) => {
        this.#settle(domain, timestamp, mapKey, version);
      });
    this.#queues = { event: queueOf(0), processing: queueOf(1) };
  }

  get currentWatermark(): number {
    return this.#watermark;
  }

  /** Timers pending, of both kinds. */
  get size(): number {
    return this.#queues.event.size + this.#queues.processing.size;
  }

  /** Timers pending, of one kind. */
  sizeOf(domain: TimeDomain): number {
    return this.#queues[domain].size;
  }

  /**
   * Registering again what is pending does nothing. A time that has passed fires at the next turn.
   */
  register(domain: TimeDomain, key: KeyValue, timestamp: number): void {
    if (typeof timestamp !== 'number' || Number.isNaN(timestamp))
      throw notATime('registered', timestamp, key);
    this.#queues[domain].register(key, timestamp, this.#snapshots.version);
  }

  /** For the current key; costs next to nothing when it did so before. */
  registerCurrent(domain: TimeDomain, keys: TimerKeys, timestamp: number): void {
    const queue = domain === 'event' ? this.#queues.event : this.#queues.processing;
    const mark = queue.markAt(timestamp);
    if (mark !== null && keys.timerMark === mark) return;
    this.register(domain, keys.ownKey, timestamp);
    keys.timerMark = queue.markAt(timestamp);
  }

  delete(domain: TimeDomain, key: KeyValue, timestamp: number): void {
    if (typeof timestamp !== 'number') throw notATime('deleted', timestamp, key);
    this.#queues[domain].delete(key, timestamp);
  }

  /**
   * Raises event time and fires what is due, in order of time. `false` when `fire` asked to stop:
   * call again with the same watermark, and forward the watermark only after `true`.
   */
  advanceWatermark(watermark: number, fire: FireTimer): boolean {
    this.#watermark = Math.max(this.#watermark, watermark);
    return this.#queues.event.fireUpTo(this.#watermark, fire);
  }

  /** Fires processing-time timers due at `now` (wall-clock milliseconds); as `advanceWatermark`. */
  advanceProcessingTime(now: number, fire: FireTimer): boolean {
    return this.#queues.processing.fireUpTo(now, fire);
  }

  /** When the earliest processing-time timer is due, or `null`. */
  nextProcessingTime(): number | null {
    return this.#queues.processing.next;
  }

  /** The service that user functions see; it works on the current key of `keys`. */
  serviceFor(keys: TimerKeys, clock: Clock): TimerService {
    return new CurrentKeyTimers(this, keys, clock);
  }

  startSnapshot(output: SectionOutput): KeyedSnapshotCursor {
    const walk = this.#settleAll();
    const source: SnapshotSource = {
      itemCount: this.size,
      keyGroups: this.keyGroups,
      settleSome: () => (walk.next().done === true ? 0 : 1),
      // Keys and times always can be encoded: what fails is a fault of ours.
      explain: (error) => error as Error,
    };
    return this.#snapshots.start(source, output);
  }

  /** Puts in a timer of a snapshot: what `#settle` stored. */
  insert(parts: readonly unknown[]): void {
    const [domain, timestamp, key] = parts as [number, number, KeyValue];
    this.register(TIME_DOMAINS[domain]!, key, timestamp);
  }

  *#settleAll(): Generator<void, void> {
    for (const [number, domain] of TIME_DOMAINS.entries())
      yield* this.#queues[domain].walk((timestamp, mapKey, version) => {
        this.#settle(number, timestamp, mapKey, version);
        return this.#snapshots.version;
      });
  }

  #settle(domain: number, timestamp: number, mapKey: MapKey, version: number): void {
    if (!this.#snapshots.isWanted(version)) return;
    const key = keyOfMapKey(mapKey);
    const keyGroup = keyGroupOf(hashKey(key), this.maxParallelism);
    this.#snapshots.add(version, keyGroup, [domain, timestamp, key]);
  }
}

function notATime(what: string, timestamp: unknown, key: KeyValue): UserFunctionError {
  const isNumber = typeof timestamp === 'number';
  const kind = timestamp === null ? 'null' : typeof timestamp;
  const hint = isNumber
    ? '. Records without a timestamp have NaN as theirs: assign timestamps at the source'
    : ', a number';
  return new UserFunctionError(
    `a timer was ${what} for the time ${isNumber ? 'NaN' : `of type ${kind}`}, under key ` +
      `${String(key)}; give milliseconds since the epoch${hint}`,
  );
}

class CurrentKeyTimers implements TimerService {
  readonly #timers: InternalTimers;
  readonly #keys: TimerKeys;
  readonly #clock: Clock;

  constructor(timers: InternalTimers, keys: TimerKeys, clock: Clock) {
    this.#timers = timers;
    this.#keys = keys;
    this.#clock = clock;
  }

  get currentWatermark(): number {
    return this.#timers.currentWatermark;
  }

  get currentProcessingTime(): number {
    return this.#clock.wallTime();
  }

  registerEventTimeTimer(timestamp: number): void {
    this.#timers.registerCurrent('event', this.#keys, timestamp);
  }

  registerProcessingTimeTimer(timestamp: number): void {
    this.#timers.registerCurrent('processing', this.#keys, timestamp);
  }

  deleteEventTimeTimer(timestamp: number): void {
    this.#timers.delete('event', this.#keys.currentKey, timestamp);
  }

  deleteProcessingTimeTimer(timestamp: number): void {
    this.#timers.delete('processing', this.#keys.currentKey, timestamp);
  }
}
