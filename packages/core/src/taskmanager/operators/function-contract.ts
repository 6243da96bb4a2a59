/**
 * What a function of the job must keep to, and what is said when it does not: it handles a record
 * to the end before it returns. Whatever comes later would be in no checkpoint, and under whatever
 * key and time are then current. The checks cost a comparison where nothing is wrong.
 */
import { UserFunctionError } from '../../base/errors.ts';
import type { JobOperator } from '../../protocol/job-graph.ts';
import type { OperatorContext } from './stream-operator.ts';

/** `totals (KeyedProcess, orders.ts:14)`: for messages. */
export function describeOperator({ uid, name, location }: JobOperator): string {
  const facts = location === null ? name : `${name}, ${location}`;
  return uid === null ? facts : `"${uid}" (${facts})`;
}

/** Also one that was not made by `Promise`. No record or result can have methods. */
export function isPromise(result: unknown): boolean {
  if (result instanceof Promise) return true;
  if (typeof result !== 'object' || result === null) return false;
  return typeof (result as { readonly then?: unknown }).then === 'function';
}

/** Refuses a promise as what a function returned. */
export function checkResult(result: unknown, method: string, operator: JobOperator): void {
  if (!isPromise(result)) return;
  // It may be rejected, which nobody would see to.
  Promise.resolve(result).catch(() => undefined);
  throw new UserFunctionError(
    `${method} of operator ${describeOperator(operator)} returned a promise: records are ` +
      'handled synchronously, so nothing waits for it. Only open and close may wait: load what a ' +
      'function needs in open, and call other systems from a source or a sink',
    { details: { operator: operator.uid ?? operator.name, method } },
  );
}

/** Whether a function of the operator runs just now. */
export function isActive({ active, operator }: OperatorContext): boolean {
  return active.cells[0] === operator.node + 1;
}

/** Fails the task, since nobody would catch what a later callback throws. */
export function emittedLate(context: OperatorContext): void {
  const { operator } = context;
  context.fail(
    new UserFunctionError(
      `operator ${describeOperator(operator)} emitted while none of its functions ran, in a ` +
        'later callback or behind a promise: such a result would be in no checkpoint. Emit ' +
        'before the function returns',
      { details: { operator: operator.uid ?? operator.name } },
    ),
  );
}

/**
 * An operator behind this one failed, while a function of this one emits: the task fails even if
 * that function catches what it takes for an error of its own. Gives the error, to be thrown.
 */
export function failedBehind(context: OperatorContext, error: unknown): unknown {
  context.fail(error);
  return error;
}
