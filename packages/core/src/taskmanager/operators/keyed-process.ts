/** A process function on a keyed stream, with keyed state and timers. */
import type { KeyedProcessFunction, KeySelector, KeyValue } from '../../api/functions.ts';
import type { InlinedOperator } from '../chain/inlined.ts';
import { KeyedOperator } from './keyed-operator.ts';
import { KeyedElementContext, stateOf } from './process-context.ts';
import type { OperatorContext } from './stream-operator.ts';

export type AnyKeyedProcessFunction = KeyedProcessFunction<KeyValue, unknown, unknown>;

export class KeyedProcessOperator extends KeyedOperator<AnyKeyedProcessFunction> {
  readonly #element: KeyedElementContext;

  constructor(context: OperatorContext, fn: AnyKeyedProcessFunction) {
    super(context, fn);
    this.#element = new KeyedElementContext(context, stateOf(context, fn.state));
  }

  override inlined(): InlinedOperator {
    const { backend, keySelectors } = this.keyed;
    const keySelector = keySelectors[0] as KeySelector<unknown, KeyValue>;
    return { kind: 'keyedProcess', fn: this.fn, element: this.#element, keySelector, backend };
  }

  override processElement(value: unknown, timestamp: number): void {
    this.selectKey(value, 0);
    this.#element.timestamp = timestamp;
    try {
      this.fn.onElement(value, this.#element);
    } catch (error) {
      throw this.failure(error, 'onElement');
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
