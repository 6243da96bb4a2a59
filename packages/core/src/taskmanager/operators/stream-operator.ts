/**
 * An operator inside a chain. Everything it is told comes by plain synchronous calls from the task
 * that owns the chain: elements, watermarks, timers, the end of input, snapshots. `open`, `close`
 * and committing may be asynchronous; no element is handed over before `open` is done.
 *
 * `emitWatermark` may stop half way, when the network has no room for what timers emit: it then
 * answers false and goes on at `resume`. The task hands over nothing else in between.
 */
import type { Clock } from '../../base/clock.ts';
import type { FileSystem } from '../../base/file-system.ts';
import type { Attempt, JobId } from '../../base/ids.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import { MIN_WATERMARK } from '../../base/records.ts';
import { AssertionError } from '../../base/assert.ts';
import { isWeirError, messageOf, UserFunctionError } from '../../base/errors.ts';
import type { OperatorListState } from '../../api/state.ts';
import type { RuntimeContext, WatermarkStrategy } from '../../api/functions.ts';
import type { EnumeratorEvent, ReaderEvent } from '../../protocol/messages.ts';
import type { JobOperator } from '../../protocol/job-graph.ts';
import type { InlinedOperator } from '../chain/inlined.ts';
import type { Output } from '../chain/output.ts';
import type { OperatorStateBackend } from '../../state/operator/operator-state-backend.ts';
import { checkResult, describeOperator } from './function-contract.ts';
import type { KeyedState } from './keyed-state.ts';
import type { ActiveOperator } from './active-operator.ts';

/** What an operator may use. */
export interface OperatorContext {
  readonly operator: JobOperator;
  readonly jobId: JobId;
  readonly attempt: Attempt;
  readonly output: Output;
  /** The output of a tag; a no-op where nobody reads it. */
  sideOutput(tag: string): Output;
  readonly runtime: RuntimeContext;
  /** Operator state; restored before `open`. */
  readonly states: OperatorStateBackend;
  /** State and timers of the current key; null for an operator that is not keyed. */
  readonly keyed: KeyedState | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly fileSystem: FileSystem;
  readonly logger: Logger;
  /** Aborted when the task fails or is cancelled; `close` follows. */
  readonly signal: AbortSignal;
  readonly active: ActiveOperator;
  readonly checkpointing: boolean;
  readonly committerRetries: number;
  readonly autoWatermarkIntervalMs: number;
  /** Whether the network can take more: checked between timers. */
  canEmit(): boolean;
  /** Asks the task to run again: something can go on. */
  wakeUp(): void;
  /** Fails the task; for errors that surface outside a call of the task. */
  fail(error: unknown): void;
  sendToEnumerator(event: EnumeratorEvent): void;
}

export abstract class StreamOperator {
  readonly context: OperatorContext;
  protected currentWatermark: number = MIN_WATERMARK;

  constructor(context: OperatorContext) {
    this.context = context;
  }

  /** Called once, when state is restored and before anything else. */
  open(): void | Promise<void> {}

  /** What a generated chain needs to do in place of `processElement`; null: it calls that. */
  inlined(): InlinedOperator | null {
    return null;
  }

  abstract processElement(value: unknown, timestamp: number): void;

  /** An element of the second input. */
  processElement2(_value: unknown, _timestamp: number): void {
    throw new UserFunctionError(`operator ${this.describe()} has no second input`);
  }

  /** Event time has come to `timestamp`. See the head text for the answer. */
  processWatermark(timestamp: number): boolean {
    this.currentWatermark = timestamp;
    this.context.output.emitWatermark(timestamp);
    return true;
  }

  processIdle(idle: boolean): void {
    this.context.output.emitIdle(idle);
  }

  /** Goes on with what stopped half way; true when nothing is left. */
  resume(): boolean {
    return true;
  }

  /** For so long the task had no room for results: no record could come, which is no idleness. */
  pausedFor(_ms: number): void {}

  /** All input was handled; event time is at its end unless the job is suspended. */
  endOfInput(): void {}

  /**
   * Puts what belongs to checkpoint `checkpointId` into operator state, synchronously; the task
   * takes that and the keyed state right after. The checkpoint is acknowledged when the result
   * resolves; a rejection fails the task. `stops`: the job is stopped with it, unless that fails.
   */
  prepareSnapshot(
    _checkpointId: number,
    _endOfInput: boolean,
    _stops?: boolean,
  ): Promise<void> | null {
    return null;
  }

  /** Work to be done when the checkpoint is complete; rejected: the task fails. */
  notifyCheckpointComplete(_checkpointId: number): void | Promise<void> {}

  /** Without checkpoints: publishes what a checkpoint would have published. */
  commitAtEnd(): void | Promise<void> {}

  handleReaderEvent(_event: ReaderEvent): void {}

  /** Called once, also after a failure, and never before `open` has answered. */
  close(): void | Promise<void> {}

  /** `totals (KeyedProcess, orders.ts:14)`: for messages. */
  describe(): string {
    return describeOperator(this.context.operator);
  }

  /** Refuses a promise; see there. For generated code too. */
  checkResult(result: unknown, method: string): void {
    checkResult(result, method, this.context.operator);
  }

  /** Event time of a record by the user's function, or else as the source knows it. */
  timestampOf(
    { timestampOf }: WatermarkStrategy<unknown>,
    value: unknown,
    sourceTimestamp: number,
  ): number {
    if (timestampOf === undefined) return sourceTimestamp;
    let time: number;
    try {
      time = timestampOf(value, sourceTimestamp);
    } catch (error) {
      throw this.failure(error, 'timestamp function');
    }
    this.checkTime(time);
    return time;
  }

  /** Refuses what a timestamp function must not return. */
  checkTime(time: unknown): asserts time is number {
    if (typeof time === 'number' && !Number.isNaN(time)) return;
    throw new UserFunctionError(
      `the timestamp function of operator ${this.describe()} returned ${String(time)}; it must ` +
        'return milliseconds since the epoch, a number',
      { details: { operator: this.context.operator.uid ?? this.context.operator.name } },
    );
  }

  /** Turns what a user's function threw into an error that names the operator. */
  failure(error: unknown, method: string): unknown {
    // A contradiction within the engine may surface inside a user's call: it is not his fault.
    if (isWeirError(error) || error instanceof AssertionError) return error;
    return new UserFunctionError(
      `${method} of operator ${this.describe()} threw: ${messageOf(error)}`,
      {
        cause: error,
        details: { operator: this.context.operator.uid ?? this.context.operator.name, method },
      },
    );
  }
}

/** A list state that the engine itself keeps, such as the splits of a source. */
export function listStateOf(context: OperatorContext, name: string): OperatorListState<unknown> {
  const declaration = { [name]: { kind: 'operatorList', mode: 'list' } } as const;
  return context.states.handlesFor(declaration)[name] as OperatorListState<unknown>;
}
