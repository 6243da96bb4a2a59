/** Process functions on keyed streams, with keyed state and timers, on one input and on two. */
import type {
  KeyedCoProcessFunction,
  KeyedProcessFunction,
  KeySelector,
  KeyValue,
} from '../../api/functions.ts';
import type { InlinedOperator } from '../chain/inlined.ts';
import { KeyedElementContext, stateOf } from './process-context.ts';
import { KeyedProcessFunctionOperator } from './process-function-operator.ts';
import type { OperatorContext } from './stream-operator.ts';

export type AnyKeyedProcessFunction = KeyedProcessFunction<KeyValue, unknown, unknown>;
type AnyKeyedCoProcessFunction = KeyedCoProcessFunction<KeyValue, unknown, unknown, unknown>;

export class KeyedProcessOperator extends KeyedProcessFunctionOperator<
  AnyKeyedProcessFunction,
  KeyedElementContext
> {
  readonly #onElement = this.guarded('onElement', (value) =>
    this.fn.onElement(value, this.element),
  );

  constructor(context: OperatorContext, fn: AnyKeyedProcessFunction) {
    super(context, fn, new KeyedElementContext(context, stateOf(context, fn.state)));
  }

  override inlined(): InlinedOperator {
    const { backend, keySelectors } = this.keyed;
    const keySelector = keySelectors[0] as KeySelector<unknown, KeyValue>;
    return { kind: 'keyedProcess', fn: this.fn, element: this.element, keySelector, backend };
  }

  override processElement(value: unknown, timestamp: number): void {
    this.enter(value, timestamp);
    this.#onElement(value);
  }
}

/** The two inputs share state and timers by key. */
export class KeyedCoProcessOperator extends KeyedProcessFunctionOperator<
  AnyKeyedCoProcessFunction,
  KeyedElementContext
> {
  readonly #onElement1 = this.guarded('onElement1', (value) =>
    this.fn.onElement1(value, this.element),
  );
  readonly #onElement2 = this.guarded('onElement2', (value) =>
    this.fn.onElement2(value, this.element),
  );

  constructor(context: OperatorContext, fn: AnyKeyedCoProcessFunction) {
    super(context, fn, new KeyedElementContext(context, stateOf(context, fn.state)));
  }

  override processElement(value: unknown, timestamp: number): void {
    this.enter(value, timestamp);
    this.#onElement1(value);
  }

  override processElement2(value: unknown, timestamp: number): void {
    this.enter(value, timestamp, 1);
    this.#onElement2(value);
  }
}
