/**
 * The errors of the file connectors. What only a person can mend (a missing file, a missing right)
 * is of kind `user`, so that no restart is wasted on it; anything else is worth a retry.
 */
import { WeirError, isWeirError, messageOf } from '../base/errors.ts';
import { storageErrno } from '../storage/storage-error.ts';

const NEEDS_A_PERSON = new Set([
  'ENOENT',
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOTDIR',
  'ELOOP',
  'EISDIR',
  'ENAMETOOLONG',
]);

/** A source's file is not what it should be: `message` says what and what to do. */
export function sourceUnavailable(
  path: string,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): WeirError {
  return new WeirError('user', message, {
    code: 'SOURCE_UNAVAILABLE',
    details: { path, ...details },
  });
}

/** Turns a failed file operation of a source into an error of the source. */
export function asSourceError(path: string, error: unknown): WeirError {
  return asConnectorError('SOURCE_UNAVAILABLE', `fileSource cannot read ${path}`, path, error);
}

/** Turns a failed file operation of a sink into an error of the sink. */
export function asSinkError(path: string, error: unknown): WeirError {
  return asConnectorError('SINK_UNAVAILABLE', `fileSink cannot write to ${path}`, path, error);
}

function asConnectorError(
  code: 'SOURCE_UNAVAILABLE' | 'SINK_UNAVAILABLE',
  what: string,
  path: string,
  error: unknown,
): WeirError {
  const errno = storageErrno(error);
  // Errors that are no storage errors were made by a connector and say enough already.
  if (errno === null && isWeirError(error)) return error;
  const kind = errno !== null && NEEDS_A_PERSON.has(errno) ? 'user' : 'transient';
  return new WeirError(kind, `${what}: ${messageOf(error)}`, {
    code,
    details: { path, errno },
    cause: error,
  });
}
