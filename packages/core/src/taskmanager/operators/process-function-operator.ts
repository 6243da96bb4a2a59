/**
 * What operators around process functions share: the context that the function sees, kept at the
 * time of the element, the watermark and the timer.
 */
import type { FunctionLifecycle, KeyValue, OnTimerContext } from '../../api/functions.ts';
import type { StateDeclaration } from '../../api/state.ts';
import { FunctionOperator } from './function-operator.ts';
import { KeyedOperator } from './keyed-operator.ts';
import type { ElementContext, KeyedElementContext } from './process-context.ts';
import type { OperatorContext } from './stream-operator.ts';

/** Of functions that see no key. */
export abstract class ProcessFunctionOperator<
  F extends FunctionLifecycle,
  C extends ElementContext,
> extends FunctionOperator<F> {
  protected readonly element: C;

  constructor(context: OperatorContext, fn: F, element: C) {
    super(context, fn);
    this.element = element;
  }

  /** Before the function sees an element that has no key. */
  protected enter(timestamp: number): void {
    this.element.timestamp = timestamp;
    this.context.active.enter(this.context.operator.node);
  }

  override processWatermark(timestamp: number): boolean {
    this.element.currentWatermark = timestamp;
    return super.processWatermark(timestamp);
  }
}

interface TimedFunction extends FunctionLifecycle {
  onTimer?(timestamp: number, context: OnTimerContext<KeyValue, unknown, StateDeclaration>): void;
}

/** Of functions that see the key of each element, and set timers for it. */
export abstract class KeyedProcessFunctionOperator<
  F extends TimedFunction,
  C extends KeyedElementContext,
> extends KeyedOperator<F> {
  protected readonly element: C;

  constructor(context: OperatorContext, fn: F, element: C) {
    super(context, fn);
    this.element = element;
  }

  /** Before the function sees an element: its key becomes current. */
  protected enter(value: unknown, timestamp: number, inputIndex: 0 | 1 = 0): void {
    this.selectKey(value, inputIndex);
    this.element.timestamp = timestamp;
  }

  override processWatermark(timestamp: number): boolean {
    this.element.currentWatermark = timestamp;
    return super.processWatermark(timestamp);
  }

  protected override fireTimer(timestamp: number, domain: 'event' | 'processing'): void {
    this.element.timestamp = timestamp;
    this.element.timeDomain = domain;
    this.element.hasEventTime = domain === 'event';
    try {
      const result: unknown = this.fn.onTimer?.(timestamp, this.element);
      if (result !== undefined) this.checkResult(result, 'onTimer');
    } finally {
      this.element.hasEventTime = true;
    }
  }
}
