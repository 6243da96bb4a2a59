/**
 * The context object that a process function sees. One object an operator, changed in place before
 * each call, so that handling a record allocates nothing.
 */
import type {
  KeyedContext,
  KeyValue,
  OnTimerContext,
  OutputTag,
  ProcessContext,
  TimerService,
} from '../../api/functions.ts';
import type { StateDeclaration, StateHandles } from '../../api/state.ts';
import { createStateHandles } from '../../state/state-handles.ts';
import { GraphValidationError } from '../../base/errors.ts';
import { MIN_WATERMARK } from '../../base/records.ts';
import type { Output } from '../chain/output.ts';
import { emittedLate, failedBehind, isActive } from './function-contract.ts';
import type { KeyedState } from './keyed-state.ts';
import type { OperatorContext } from './stream-operator.ts';

/** The handles of a function's declared states. */
export function stateOf(
  operator: OperatorContext,
  declaration: StateDeclaration | undefined,
): StateHandles<StateDeclaration> {
  return createStateHandles(declaration ?? {}, operator.keyed?.backend ?? null, operator.states);
}

type AnyContext = ProcessContext<unknown, StateDeclaration>;

export class ElementContext implements AnyContext {
  protected readonly operator: OperatorContext;
  state: never;
  timestamp: number = Number.NaN;
  /** Whether `timestamp` is one, and not that of a timer in processing time. */
  hasEventTime = true;
  currentWatermark: number = MIN_WATERMARK;
  /** Bound to the context, so that it may be taken out of it. */
  emit: (result: unknown) => void;

  constructor(operator: OperatorContext, state: unknown) {
    this.operator = operator;
    this.state = state as never;
    const { output } = operator;
    const { emitter } = output;
    if (emitter === undefined) {
      this.emit = (result) => this.#emit(result);
      return;
    }
    let made: ((result: unknown) => void) | null = null;
    this.emit = (result) => {
      // Made with the first result, when the chain is complete and open; once, though the function
      // may have kept this one.
      made ??= emitter(this, operator);
      this.emit = made;
      made(result);
    };
  }

  /** Event time of what is emitted; as in Flink a timer in processing time gives none. */
  get resultTimestamp(): number {
    return this.hasEventTime ? this.timestamp : Number.NaN;
  }

  get currentProcessingTime(): number {
    return this.operator.clock.wallTime();
  }

  #emit(result: unknown): void {
    this.#collect(this.operator.output, result);
  }

  #collect(output: Output, result: unknown): void {
    const { operator } = this;
    if (!isActive(operator)) return emittedLate(operator);
    try {
      output.collect(result, this.resultTimestamp);
    } catch (error) {
      throw failedBehind(operator, error);
    }
    operator.active.enter(operator.operator.node);
  }

  /** Bound as well. */
  readonly output = <X>(tag: OutputTag<X>, value: X): void => {
    if (typeof tag?.id !== 'string') {
      throw new GraphValidationError(
        'output(tag, value): the tag is not one that outputTag(name) made',
      );
    }
    this.#collect(this.operator.sideOutput(tag.id), value);
  };
}

export class KeyedElementContext
  extends ElementContext
  implements
    KeyedContext<KeyValue, unknown, StateDeclaration>,
    OnTimerContext<KeyValue, unknown, StateDeclaration>
{
  timeDomain: 'event' | 'processing' = 'event';
  readonly #keyed: KeyedState;
  readonly timerService: TimerService;

  constructor(operator: OperatorContext, state: unknown) {
    super(operator, state);
    this.#keyed = operator.keyed as KeyedState;
    this.timerService = this.#keyed.timers.serviceFor(this.#keyed.backend, operator.clock);
  }

  get key(): KeyValue {
    return this.#keyed.backend.currentKey;
  }
}
