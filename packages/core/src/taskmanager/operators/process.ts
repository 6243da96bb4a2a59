/** Process functions without keys: one input, two inputs, and broadcast (keyed or not). */
import type {
  BroadcastDeclaration,
  BroadcastProcessFunction,
  CoProcessFunction,
  KeyedBroadcastProcessFunction,
  KeyValue,
  ProcessFunction,
} from '../../api/functions.ts';
import type { StateDeclaration } from '../../api/state.ts';
import type { InlinedOperator } from '../chain/inlined.ts';
import { FunctionOperator } from './function-operator.ts';
import { KeyedOperator } from './keyed-operator.ts';
import { ElementContext, KeyedElementContext, stateOf } from './process-context.ts';
import type { OperatorContext } from './stream-operator.ts';

export class ProcessOperator extends FunctionOperator<ProcessFunction<unknown, unknown>> {
  readonly #element: ElementContext;

  constructor(context: OperatorContext, fn: ProcessFunction<unknown, unknown>) {
    super(context, fn);
    this.#element = new ElementContext(context, stateOf(context, fn.state));
  }

  override inlined(): InlinedOperator {
    return { kind: 'process', fn: this.fn, element: this.#element };
  }

  override processElement(value: unknown, timestamp: number): void {
    this.#element.timestamp = timestamp;
    this.context.active.enter(this.context.operator.node);
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

  override endOfInput(): void {
    this.#element.timestamp = Number.NaN;
    try {
      this.fn.onEndOfInput?.(this.#element);
    } catch (error) {
      throw this.failure(error, 'onEndOfInput');
    }
  }
}

export class CoProcessOperator extends FunctionOperator<
  CoProcessFunction<unknown, unknown, unknown>
> {
  readonly #element: ElementContext;

  constructor(context: OperatorContext, fn: CoProcessFunction<unknown, unknown, unknown>) {
    super(context, fn);
    this.#element = new ElementContext(context, stateOf(context, fn.state));
  }

  override processElement(value: unknown, timestamp: number): void {
    this.#element.timestamp = timestamp;
    this.context.active.enter(this.context.operator.node);
    try {
      this.fn.onElement1(value, this.#element);
    } catch (error) {
      throw this.failure(error, 'onElement1');
    }
  }

  override processElement2(value: unknown, timestamp: number): void {
    this.#element.timestamp = timestamp;
    this.context.active.enter(this.context.operator.node);
    try {
      this.fn.onElement2(value, this.#element);
    } catch (error) {
      throw this.failure(error, 'onElement2');
    }
  }

  override processWatermark(timestamp: number): boolean {
    this.#element.currentWatermark = timestamp;
    return super.processWatermark(timestamp);
  }
}

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

/** The broadcast side comes in as the second input. */
export class BroadcastProcessOperator extends FunctionOperator<AnyBroadcastFunction> {
  readonly #element: BroadcastElementContext;

  constructor(
    context: OperatorContext,
    fn: AnyBroadcastFunction,
    declaration: BroadcastDeclaration,
  ) {
    super(context, fn);
    const broadcast = context.states.handlesFor(declaration);
    this.#element = new BroadcastElementContext(context, stateOf(context, fn.state), broadcast);
  }

  override processElement(value: unknown, timestamp: number): void {
    this.#element.timestamp = timestamp;
    this.context.active.enter(this.context.operator.node);
    try {
      this.fn.onElement(value, this.#element);
    } catch (error) {
      throw this.failure(error, 'onElement');
    }
  }

  override processElement2(value: unknown, timestamp: number): void {
    this.#element.timestamp = timestamp;
    this.context.active.enter(this.context.operator.node);
    try {
      this.fn.onBroadcastElement(value, this.#element);
    } catch (error) {
      throw this.failure(error, 'onBroadcastElement');
    }
  }

  override processWatermark(timestamp: number): boolean {
    this.#element.currentWatermark = timestamp;
    return super.processWatermark(timestamp);
  }
}

export class KeyedBroadcastProcessOperator extends KeyedOperator<AnyKeyedBroadcastFunction> {
  readonly #element: KeyedBroadcastElementContext;

  constructor(
    context: OperatorContext,
    fn: AnyKeyedBroadcastFunction,
    declaration: BroadcastDeclaration,
  ) {
    super(context, fn);
    const broadcast = context.states.handlesFor(declaration);
    const state = stateOf(context, fn.state);
    this.#element = new KeyedBroadcastElementContext(context, state, broadcast);
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

  override processElement2(value: unknown, timestamp: number): void {
    // No key is current: keyed state would be that of whatever key came last.
    this.keyed.backend.clearCurrentKey();
    this.#element.timestamp = timestamp;
    this.context.active.enter(this.context.operator.node);
    try {
      this.fn.onBroadcastElement(value, this.#element);
    } catch (error) {
      throw this.failure(error, 'onBroadcastElement');
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
