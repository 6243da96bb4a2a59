/**
 * `reduce` and `aggregate` on a keyed stream: one value a key, changed by each record, the running
 * result emitted after each.
 */
import type { FunctionLifecycle, Reduce } from '../../api/functions.ts';
import type { AggregateFunction, ValueState } from '../../api/state.ts';
import { rollingState } from '../../graph/rolling-state.ts';
import { KeyedOperator } from './keyed-operator.ts';
import type { KeyedState } from './keyed-state.ts';
import type { OperatorContext } from './stream-operator.ts';

function rollingValue(
  keyed: KeyedState,
  aggregate: AggregateFunction<unknown, unknown, unknown> | null,
): ValueState<unknown> {
  return keyed.backend.handlesFor(rollingState(aggregate))['rolling'] as ValueState<unknown>;
}

/** As another thread would get it. */
function copyOf(value: unknown): unknown {
  return typeof value === 'object' ? structuredClone(value) : value;
}

export class KeyedReduceOperator extends KeyedOperator<FunctionLifecycle> {
  readonly #reduce: Reduce<unknown>;
  readonly #value: ValueState<unknown>;

  constructor(context: OperatorContext, reduce: Reduce<unknown>) {
    super(context, {});
    this.#reduce = reduce;
    this.#value = rollingValue(this.keyed, null);
  }

  override processElement(value: unknown, timestamp: number): void {
    this.selectKey(value, 0);
    const current = this.#value.value;
    let result: unknown;
    try {
      result = current === undefined ? value : this.#reduce(current, value);
      if (result instanceof Promise) this.checkResult(result, 'reduce');
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
    this.#value = rollingValue(this.keyed, aggregate);
  }

  override processElement(value: unknown, timestamp: number): void {
    this.selectKey(value, 0);
    let result: unknown;
    try {
      const before = this.#value.value;
      const next = this.#aggregate.add(value, before);
      if (next instanceof Promise) this.checkResult(next, 'aggregate');
      this.#value.update(next);
      result = this.#aggregate.getResult(next);
      if (result instanceof Promise) this.checkResult(result, 'aggregate');
      // The next record will change it, also where it is still under way.
      if (result === next && next === before) result = copyOf(result);
    } catch (error) {
      throw this.failure(error, 'aggregate');
    }
    this.context.output.collect(result, timestamp);
  }

  protected override fireTimer(): void {}
}
