/** A process function on two connected keyed streams, which share state and timers by key. */
import type { KeyedCoProcessFunction, KeyValue } from '../../api/functions.ts';
import { KeyedOperator } from './keyed-operator.ts';
import { KeyedElementContext, stateOf } from './process-context.ts';
import type { OperatorContext } from './stream-operator.ts';

export type AnyKeyedCoProcessFunction = KeyedCoProcessFunction<KeyValue, unknown, unknown, unknown>;

export class KeyedCoProcessOperator extends KeyedOperator<AnyKeyedCoProcessFunction> {
  readonly #element: KeyedElementContext;

  constructor(context: OperatorContext, fn: AnyKeyedCoProcessFunction) {
    super(context, fn);
    this.#element = new KeyedElementContext(context, stateOf(context, fn.state));
  }

  override processElement(value: unknown, timestamp: number): void {
    this.selectKey(value, 0);
    this.#element.timestamp = timestamp;
    try {
      this.fn.onElement1(value, this.#element);
    } catch (error) {
      throw this.failure(error, 'onElement1');
    }
  }

  override processElement2(value: unknown, timestamp: number): void {
    this.selectKey(value, 1);
    this.#element.timestamp = timestamp;
    try {
      this.fn.onElement2(value, this.#element);
    } catch (error) {
      throw this.failure(error, 'onElement2');
    }
  }

  override processWatermark(timestamp: number): boolean {
    this.#element.currentWatermark = timestamp;
    return super.processWatermark(timestamp);
  }

  protected override fireTimer(timestamp: number, domain: 'event' | 'processing'): void {
    this.#element.timestamp = timestamp;
    this.#element.timeDomain = domain;
    this.fn.onTimer?.(timestamp, this.#element);
  }
}
