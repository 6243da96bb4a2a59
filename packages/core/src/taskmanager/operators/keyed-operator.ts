/**
 * What operators on keyed streams share: selecting the key before each element, and firing timers.
 * Timers fire in the order of their time, before the watermark that reached them is passed on; they
 * stop when the network has no room, and go on at `resume`.
 */
import type { FunctionLifecycle, KeyValue } from '../../api/functions.ts';
import { assert } from '../../base/assert.ts';
import { FunctionOperator } from './function-operator.ts';
import type { KeyedState } from './keyed-state.ts';
import type { OperatorContext } from './stream-operator.ts';

export abstract class KeyedOperator<F extends FunctionLifecycle> extends FunctionOperator<F> {
  protected readonly keyed: KeyedState;
  #pendingWatermark: number | null = null;
  /** Came while a watermark was stopped half way: passed on behind it. */
  #pendingIdle: boolean | null = null;

  constructor(context: OperatorContext, fn: F) {
    super(context, fn);
    assert(context.keyed !== null, 'a keyed operator needs keyed state');
    this.keyed = context.keyed;
  }

  /** The user's `onTimer`; the timer's key is current. */
  protected abstract fireTimer(timestamp: number, domain: 'event' | 'processing'): void;

  protected selectKey(value: unknown, inputIndex: 0 | 1): void {
    let key: KeyValue;
    this.context.active.enter(this.context.operator.node);
    try {
      key = (this.keyed.keySelectors[inputIndex] as (value: unknown) => KeyValue)(value);
    } catch (error) {
      throw this.failure(error, 'key function');
    }
    this.keyed.backend.setCurrentKey(key);
  }

  override processWatermark(timestamp: number): boolean {
    this.currentWatermark = timestamp;
    this.#pendingWatermark = timestamp;
    return this.resume();
  }

  override resume(): boolean {
    const watermark = this.#pendingWatermark;
    if (watermark === null) return true;
    if (!this.keyed.timers.advanceWatermark(watermark, this.#fireEventTimer)) return false;
    this.#pendingWatermark = null;
    this.context.output.emitWatermark(watermark);
    if (this.#pendingIdle !== null) this.context.output.emitIdle(this.#pendingIdle);
    this.#pendingIdle = null;
    return true;
  }

  override processIdle(idle: boolean): void {
    if (this.#pendingWatermark === null) super.processIdle(idle);
    else this.#pendingIdle = idle;
  }

  /** Fires what is due on the wall clock; false when it had to stop. */
  fireProcessingTimers(): boolean {
    const now = this.context.clock.wallTime();
    return this.keyed.timers.advanceProcessingTime(now, this.#fireProcessingTimer);
  }

  readonly #fireEventTimer = (key: KeyValue, timestamp: number): boolean =>
    this.#fire(key, timestamp, 'event');

  readonly #fireProcessingTimer = (key: KeyValue, timestamp: number): boolean =>
    this.#fire(key, timestamp, 'processing');

  #fire(key: KeyValue, timestamp: number, domain: 'event' | 'processing'): boolean {
    this.keyed.backend.setCurrentKey(key);
    this.context.active.enter(this.context.operator.node);
    try {
      this.fireTimer(timestamp, domain);
    } catch (error) {
      throw this.failure(error, 'onTimer');
    }
    return this.context.canEmit();
  }
}
