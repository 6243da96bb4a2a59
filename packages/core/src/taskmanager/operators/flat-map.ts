/** Any number of results for each record, returned as an iterable or handed to `emit`. */
import type { FlatMapFunction } from '../../api/functions.ts';
import { UserFunctionError } from '../../base/errors.ts';
import type { InlinedOperator } from '../chain/inlined.ts';
import { emittedLate, failedBehind, isActive } from './function-contract.ts';
import type { OperatorContext } from './stream-operator.ts';
import { FunctionOperator } from './function-operator.ts';

export class FlatMapOperator extends FunctionOperator<FlatMapFunction<unknown, unknown>> {
  #timestamp = Number.NaN;
  readonly #emit: (result: unknown) => void;

  constructor(context: OperatorContext, fn: FlatMapFunction<unknown, unknown>) {
    super(context, fn);
    this.#emit = (result) => {
      if (!isActive(context)) return emittedLate(context);
      try {
        this.#follow(result);
      } catch (error) {
        throw failedBehind(context, error);
      }
    };
  }

  override inlined(): InlinedOperator {
    return { kind: 'flatMap', fn: this.fn, checkIterable: (it) => this.checkIterable(it) };
  }

  #follow(result: unknown): void {
    const { output, active, operator } = this.context;
    output.collect(result, this.#timestamp);
    active.enter(operator.node);
  }

  /** Throws for what cannot be gone through. Also for generated code. */
  checkIterable(results: unknown): void {
    this.checkResult(results, 'flatMap');
    if (isIterable(results)) return;
    const what = results === null ? 'null' : `a value of type ${typeof results}`;
    throw new UserFunctionError(
      `flatMap of operator ${this.describe()} returned ${what}; it must return an array or ` +
        'another iterable of results, or nothing',
      { details: { operator: this.context.operator.uid ?? this.context.operator.name } },
    );
  }

  override processElement(value: unknown, timestamp: number): void {
    this.#timestamp = timestamp;
    this.context.active.enter(this.context.operator.node);
    try {
      const results = this.fn.flatMap(value, this.#emit);
      if (results === undefined) return;
      if (!isIterable(results)) this.checkIterable(results);
      for (const result of results) this.#follow(result);
    } catch (error) {
      throw this.failure(error, 'flatMap');
    }
  }
}

function isIterable(results: unknown): boolean {
  if (results === null || results === undefined) return false;
  return typeof (results as Partial<Iterable<unknown>>)[Symbol.iterator] === 'function';
}
