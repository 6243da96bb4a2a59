/** Process functions with a broadcast side, which comes in as the second input. */
import type {
  BroadcastDeclaration,
  BroadcastProcessFunction,
  KeyedBroadcastProcessFunction,
  KeyValue,
} from '../../api/functions.ts';
import type { StateDeclaration } from '../../api/state.ts';
import { ElementContext, KeyedElementContext, stateOf } from './process-context.ts';
import {
  KeyedProcessFunctionOperator,
  ProcessFunctionOperator,
} from './process-function-operator.ts';
import type { OperatorContext } from './stream-operator.ts';

class BroadcastElementContext extends ElementContext {
  readonly broadcast: never;

  constructor(operator: OperatorContext, state: unknown, broadcast: unknown) {
    super(operator, state);
    this.broadcast = broadcast as never;
  }
}

class KeyedBroadcastElementContext extends KeyedElementContext {
  readonly broadcast: never;

  constructor(operator: OperatorContext, state: unknown, broadcast: unknown) {
    super(operator, state);
    this.broadcast = broadcast as never;
  }
}

type AnyBroadcastFunction = BroadcastProcessFunction<
  unknown,
  unknown,
  unknown,
  BroadcastDeclaration,
  StateDeclaration
>;
type AnyKeyedBroadcastFunction = KeyedBroadcastProcessFunction<
  KeyValue,
  unknown,
  unknown,
  unknown,
  BroadcastDeclaration,
  StateDeclaration
>;

export class BroadcastProcessOperator extends ProcessFunctionOperator<
  AnyBroadcastFunction,
  BroadcastElementContext
> {
  readonly #onElement = this.guarded('onElement', (value) =>
    this.fn.onElement(value, this.element),
  );
  readonly #onBroadcastElement = this.guarded('onBroadcastElement', (value) =>
    this.fn.onBroadcastElement(value, this.element),
  );

  constructor(
    context: OperatorContext,
    fn: AnyBroadcastFunction,
    declaration: BroadcastDeclaration,
  ) {
    const broadcast = context.states.handlesFor(declaration);
    super(context, fn, new BroadcastElementContext(context, stateOf(context, fn.state), broadcast));
  }

  override processElement(value: unknown, timestamp: number): void {
    this.enter(timestamp);
    this.#onElement(value);
  }

  override processElement2(value: unknown, timestamp: number): void {
    this.enter(timestamp);
    this.#onBroadcastElement(value);
  }
}

export class KeyedBroadcastProcessOperator extends KeyedProcessFunctionOperator<
  AnyKeyedBroadcastFunction,
  KeyedBroadcastElementContext
> {
  readonly #onElement = this.guarded('onElement', (value) =>
    this.fn.onElement(value, this.element),
  );
  readonly #onBroadcastElement = this.guarded('onBroadcastElement', (value) =>
    this.fn.onBroadcastElement(value, this.element),
  );

  constructor(
    context: OperatorContext,
    fn: AnyKeyedBroadcastFunction,
    declaration: BroadcastDeclaration,
  ) {
    const broadcast = context.states.handlesFor(declaration);
    const state = stateOf(context, fn.state);
    super(context, fn, new KeyedBroadcastElementContext(context, state, broadcast));
  }

  override processElement(value: unknown, timestamp: number): void {
    this.enter(value, timestamp);
    this.#onElement(value);
  }

  override processElement2(value: unknown, timestamp: number): void {
    // No key is current: keyed state would be that of whatever key came last.
    this.keyed.backend.clearCurrentKey();
    this.element.timestamp = timestamp;
    this.context.active.enter(this.context.operator.node);
    this.#onBroadcastElement(value);
  }
}
