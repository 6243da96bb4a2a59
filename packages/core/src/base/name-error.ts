/**
 * Says whose an error is, in front of its message: a connector knows its server and its table, but
 * not under which uid the job uses it. Called by whoever calls the connector, once for each error.
 */
import type { ErrorKind } from './errors.ts';
import { isWeirError, WeirError } from './errors.ts';

/** Handled without being shown, or shown as a state of the whole job. */
const NOT_NAMED: ReadonlySet<ErrorKind> = new Set(['fenced', 'cancelled', 'declined']);

/** The same kind, code and details; what is no error of ours passes unchanged. */
export function named<E>(owner: string, error: E): E | WeirError {
  if (!isWeirError(error) || NOT_NAMED.has(error.kind)) return error;
  const { code, details } = error;
  return new WeirError(error.kind, `${owner}: ${error.message}`, { code, details, cause: error });
}
