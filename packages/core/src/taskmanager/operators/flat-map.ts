/** Any number of results for each record, returned as an iterable or handed to `emit`. */
import type { FlatMapFunction } from '../../api/functions.ts';
import type { InlinedOperator } from '../chain/inlined.ts';
import type { OperatorContext } from './stream-operator.ts';
import { FunctionOperator } from './function-operator.ts';

export class FlatMapOperator extends FunctionOperator<FlatMapFunction<unknown, unknown>> {
  #timestamp = Number.NaN;
  readonly #emit: (result: unknown) => void;

  constructor(context: OperatorContext, fn: FlatMapFunction<unknown, unknown>) {
    super(context, fn);
    this.#emit = (result) => {
      context.output.collect(result, this.#timestamp);
      context.active.enter(context.operator.node);
    };
  }

  override inlined(): InlinedOperator {
    return { kind: 'flatMap', fn: this.fn };
  }

  override processElement(value: unknown, timestamp: number): void {
    this.#timestamp = timestamp;
    this.context.active.enter(this.context.operator.node);
    try {
      const results = this.fn.flatMap(value, this.#emit);
      if (results === undefined) return;
      for (const result of results) this.#emit(result);
    } catch (error) {
      throw this.failure(error, 'flatMap');
    }
  }
}
