/**
 * `reduce` and `aggregate` on a keyed stream: one value a key, changed by each record, the running
 * result emitted after each.
 */
import type { FunctionLifecycle, Reduce } from '../../api/functions.ts';
import type { AggregateFunction, StateDeclaration, ValueState } from '../../api/state.ts';
import { KeyedOperator } from './keyed-operator.ts';
import type { KeyedState } from './keyed-state.ts';
import type { OperatorContext } from './stream-operator.ts';

/** The name under which the running value stands in snapshots. */
export const ROLLING_STATE: StateDeclaration = {
  rolling: { kind: 'value', default: undefined },
};

function rollingValue(keyed: KeyedState): ValueState<unknown> {
  return keyed.backend.handlesFor(ROLLING_STATE)['rolling'] as ValueState<unknown>;
}

export class KeyedReduceOperator extends KeyedOperator<FunctionLifecycle> {
  readonly #reduce: Reduce<unknown>;
  readonly #value: ValueState<unknown>;

  constructor(context: OperatorContext, reduce: Reduce<unknown>) {
    super(context, {});
    this.#reduce = reduce;
    this.#value = rollingValue(this.keyed);
  }

  override processElement(value: unknown, timestamp: number): void {
    this.selectKey(value, 0);
    const current = this.#value.value;
    let result: unknown;
    try {
      result = current === undefined ? value : this.#reduce(current, value);
    } catch (error) {
      throw this.failure(error, 'reduce');
    }
    this.#value.update(result);
    this.context.output.collect(result, timestamp);
  }

  protected override fireTimer(): void {}
}

export class KeyedAggregateOperator extends KeyedOperator<FunctionLifecycle> {
  readonly #aggregate: AggregateFunction<unknown, unknown, unknown>;
  readonly #value: ValueState<unknown>;

  constructor(context: OperatorContext, aggregate: AggregateFunction<unknown, unknown, unknown>) {
    super(context, {});
    this.#aggregate = aggregate;
    this.#value = rollingValue(this.keyed);
  }

  override processElement(value: unknown, timestamp: number): void {
    this.selectKey(value, 0);
    let result: unknown;
    try {
      const current = this.#value.value;
      const accumulator = current === undefined ? this.#aggregate.createAccumulator() : current;
      const next = this.#aggregate.add(value, accumulator);
      this.#value.update(next);
      result = this.#aggregate.getResult(next);
    } catch (error) {
      throw this.failure(error, 'aggregate');
    }
    this.context.output.collect(result, timestamp);
  }

  protected override fireTimer(): void {}
}
