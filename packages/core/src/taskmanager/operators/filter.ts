/** Passes on the records that the predicate accepts. */
import type { FilterFunction } from '../../api/functions.ts';
import type { InlinedOperator } from '../chain/inlined.ts';
import { FunctionOperator } from './function-operator.ts';

export class FilterOperator extends FunctionOperator<FilterFunction<unknown>> {
  override inlined(): InlinedOperator {
    return { kind: 'filter', fn: this.fn };
  }

  override processElement(value: unknown, timestamp: number): void {
    let accepted: boolean;
    this.context.active.enter(this.context.operator.node);
    try {
      accepted = this.fn.filter(value);
      if (typeof accepted !== 'boolean') this.checkResult(accepted, 'filter');
    } catch (error) {
      throw this.failure(error, 'filter');
    }
    if (accepted) this.context.output.collect(value, timestamp);
  }
}
