/**
 * Operations that take longer than a request: triggered under an id, and asked for later. Who
 * triggers may choose the id, so that a repeated request starts nothing twice. A result is kept for
 * five minutes, as Flink keeps it.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { ErrorInfo } from '../base/errors.ts';
import { toErrorInfo } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type { AsyncOperationJson, FailureJson, OperationJson } from './contract.ts';
import { serializedThrowable } from './serialized-throwable.ts';

const KEPT_MS = 300_000;
/** Flink's client asks every two seconds at the latest. */
const LINGER_MS = 3000;

interface Operation {
  /** What it belongs to: a result is not told to who asks for another job. */
  readonly scope: string;
  result: OperationJson | null;
  isTold: boolean;
  readonly told: PromiseWithResolvers<void>;
  expiry: Timer | null;
}

export class AsyncOperations {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #operations = new Map<string, Operation>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Starts `work` unless an operation with this id is known. Returns the id. */
  trigger(
    scope: string,
    wantedId: string | null,
    work: () => Promise<OperationJson>,
    failure: (error: ErrorInfo) => OperationJson = savepointFailure,
  ): string {
    const id = wantedId ?? this.#random.hex(32);
    if (this.#operations.has(id)) return id;
    const operation: Operation = {
      scope,
      result: null,
      isTold: false,
      told: Promise.withResolvers(),
      expiry: null,
    };
    this.#operations.set(id, operation);
    const end = (result: OperationJson): void => {
      operation.result = result;
      operation.expiry = this.#clock.schedule(KEPT_MS, 'operation-expiry', () =>
        this.#operations.delete(id),
      );
    };
    work().then(end, (error: unknown) => end(failure(toErrorInfo(error))));
    return id;
  }

  /** `null`: there is none. */
  poll(scope: string, id: string): AsyncOperationJson | null {
    const operation = this.#operations.get(id);
    if (operation === undefined || operation.scope !== scope) return null;
    const { result } = operation;
    if (result === null) return { status: { id: 'IN_PROGRESS' }, operation: null };
    operation.isTold = true;
    operation.told.resolve();
    return { status: { id: 'COMPLETED' }, operation: result };
  }

  /** Resolves when whoever asks has been told every result, or has had the time to ask. */
  async settled(): Promise<void> {
    const open = [...this.#operations.values()].filter(({ isTold }) => !isTold);
    if (open.length === 0) return;
    const late = Promise.withResolvers<void>();
    const timer = this.#clock.schedule(LINGER_MS, 'operations-linger', () => late.resolve());
    await Promise.race([late.promise, Promise.all(open.map(({ told }) => told.promise))]);
    timer.cancel();
  }

  close(): void {
    for (const { expiry } of this.#operations.values()) expiry?.cancel();
    this.#operations.clear();
  }
}

export function savepointFailure(error: ErrorInfo): OperationJson {
  return { 'failure-cause': failureOf(error) };
}

/** Flink writes this one in another way. */
export function checkpointFailure(error: ErrorInfo): OperationJson {
  return { failureCause: failureOf(error) };
}

function failureOf({ name, code, message, causes }: ErrorInfo): FailureJson {
  const className = code ?? name;
  const lines = [
    `${className}: ${message}`,
    ...causes.map((cause) => `Caused by: ${cause.message}`),
  ];
  const trace = lines.join('\n');
  return {
    class: className,
    'stack-trace': trace,
    'serialized-throwable': serializedThrowable(className, message, trace),
  };
}
