/** Process functions without keys, on one input and on two. */
import type { CoProcessFunction, ProcessFunction } from '../../api/functions.ts';
import type { InlinedOperator } from '../chain/inlined.ts';
import { ElementContext, stateOf } from './process-context.ts';
import { ProcessFunctionOperator } from './process-function-operator.ts';
import type { OperatorContext } from './stream-operator.ts';

export class ProcessOperator extends ProcessFunctionOperator<
  ProcessFunction<unknown, unknown>,
  ElementContext
> {
  readonly #onElement = this.guarded('onElement', (value) =>
    this.fn.onElement(value, this.element),
  );

  constructor(context: OperatorContext, fn: ProcessFunction<unknown, unknown>) {
    super(context, fn, new ElementContext(context, stateOf(context, fn.state)));
  }

  override inlined(): InlinedOperator {
    return { kind: 'process', fn: this.fn, element: this.element };
  }

  override processElement(value: unknown, timestamp: number): void {
    this.enter(timestamp);
    this.#onElement(value);
  }

  override endOfInput(): void {
    this.enter(Number.NaN);
    try {
      const result: unknown = this.fn.onEndOfInput?.(this.element);
      if (result !== undefined) this.checkResult(result, 'onEndOfInput');
    } catch (error) {
      throw this.failure(error, 'onEndOfInput');
    }
  }
}

export class CoProcessOperator extends ProcessFunctionOperator<
  CoProcessFunction<unknown, unknown, unknown>,
  ElementContext
> {
  readonly #onElement1 = this.guarded('onElement1', (value) =>
    this.fn.onElement1(value, this.element),
  );
  readonly #onElement2 = this.guarded('onElement2', (value) =>
    this.fn.onElement2(value, this.element),
  );

  constructor(context: OperatorContext, fn: CoProcessFunction<unknown, unknown, unknown>) {
    super(context, fn, new ElementContext(context, stateOf(context, fn.state)));
  }

  override processElement(value: unknown, timestamp: number): void {
    this.enter(timestamp);
    this.#onElement1(value);
  }

  override processElement2(value: unknown, timestamp: number): void {
    this.enter(timestamp);
    this.#onElement2(value);
  }
}
