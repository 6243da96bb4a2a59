/** One result for each record. */
import type { MapFunction } from '../../api/functions.ts';
import type { InlinedOperator } from '../chain/inlined.ts';
import { FunctionOperator } from './function-operator.ts';

export class MapOperator extends FunctionOperator<MapFunction<unknown, unknown>> {
  override inlined(): InlinedOperator {
    return { kind: 'map', fn: this.fn };
  }

  override processElement(value: unknown, timestamp: number): void {
    let result: unknown;
    this.context.active.enter(this.context.operator.node);
    try {
      result = this.fn.map(value);
      if (result instanceof Promise) this.checkResult(result, 'map');
    } catch (error) {
      throw this.failure(error, 'map');
    }
    this.context.output.collect(result, timestamp);
  }
}
