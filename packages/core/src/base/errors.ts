/**
 * The errors of Weir. `kind` decides the reaction and is all that restart code reads; `code` is
 * stable and documented; `message` says what happened, where, and what to do; `details` is
 * structured. Neither message nor stack shows the password of an address. Errors are recognised by
 * a registered symbol, not by `instanceof`, since they cross threads and processes as plain data
 * (`toErrorInfo`, `fromErrorInfo`).
 */
import type { ErrorCode } from './error-codes.ts';
import { maskSecrets } from './mask-secrets.ts';

/**
 * What a caller must do:
 * `user` reject, never restart · `function` restart by strategy · `transient` retry, then restart ·
 * `declined` count against tolerable checkpoint failures · `fenced` stop quietly ·
 * `corrupt` never skip silently · `cancelled` no log above debug.
 */
export type ErrorKind =
  | 'user'
  | 'function'
  | 'transient'
  | 'declined'
  | 'fenced'
  | 'corrupt'
  | 'cancelled';

export interface ErrorOptions {
  readonly code: ErrorCode;
  /** JSON-safe facts for machines: paths, positions, names. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** Registered, so that two loaded copies of this module know each other's errors. */
const WEIR_ERROR = 'weir.error';

export class WeirError extends Error {
  readonly kind: ErrorKind;
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(kind: ErrorKind, message: string, options: ErrorOptions) {
    const shown = maskSecrets(message);
    super(shown, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    Object.defineProperty(this, Symbol.for(WEIR_ERROR), { value: true });
    this.kind = kind;
    this.code = options.code;
    this.details = options.details ?? {};
  }
}

/** A configuration key or value is wrong. */
export class ConfigurationError extends WeirError {
  constructor(message: string, options: Partial<ErrorOptions> = {}) {
    super('user', message, { code: 'CONFIG_INVALID', ...options });
  }
}

/** The graph a job builds cannot run. */
export class GraphValidationError extends WeirError {
  constructor(message: string, options: Partial<ErrorOptions> = {}) {
    super('user', message, { code: 'GRAPH_INVALID', ...options });
  }
}

/** A job cannot be started as asked. */
export class JobSubmissionError extends WeirError {
  constructor(message: string, options: ErrorOptions) {
    super('user', message, options);
  }
}

/** A value cannot be encoded or decoded. */
export class SerializationError extends WeirError {
  constructor(message: string, options: Partial<ErrorOptions> = {}) {
    super('function', message, { code: 'SERIALIZATION_FAILED', ...options });
  }
}

/** A function of the job threw, or broke its contract. */
export class UserFunctionError extends WeirError {
  constructor(message: string, options: Partial<ErrorOptions> = {}) {
    super('function', message, { code: 'USER_FUNCTION_FAILED', ...options });
  }
}

/** A checkpoint was refused, aborted or expired; the job goes on. */
export class CheckpointDeclinedError extends WeirError {
  constructor(message: string, options: Partial<ErrorOptions> = {}) {
    super('declined', message, { code: 'CHECKPOINT_DECLINED', ...options });
  }
}

/** Bytes read are not what was written. */
export class StateCorruptionError extends WeirError {
  constructor(message: string, options: Partial<ErrorOptions> = {}) {
    super('corrupt', message, { code: 'STATE_CORRUPT', ...options });
  }
}

/** Stored state does not fit the job. */
export class StateMigrationError extends WeirError {
  constructor(message: string, options: Partial<ErrorOptions> = {}) {
    super('user', message, { code: 'STATE_INCOMPATIBLE', ...options });
  }
}

/** A file system or external system does not answer as it should; trying again may help. */
export class StorageUnavailableError extends WeirError {
  constructor(message: string, options: Partial<ErrorOptions> = {}) {
    super('transient', message, { code: 'STORAGE_UNAVAILABLE', ...options });
  }
}

/** A part of the cluster is gone. */
export class ConnectionLostError extends WeirError {
  constructor(message: string, options: Partial<ErrorOptions> = {}) {
    super('transient', message, { code: 'CONNECTION_LOST', ...options });
  }
}

/** This process is an old leader or an old attempt: it must stop and never retry. */
export class FencedError extends WeirError {
  constructor(message: string, options: Partial<ErrorOptions> = {}) {
    super('fenced', message, { code: 'FENCED', ...options });
  }
}

/** Somebody asked the job to stop. */
export class CancelledError extends WeirError {
  constructor(message = 'the job was cancelled', options: Partial<ErrorOptions> = {}) {
    super('cancelled', message, { code: 'CANCELLED', ...options });
  }
}

export function isWeirError(error: unknown): error is WeirError {
  return typeof error === 'object' && error !== null && Symbol.for(WEIR_ERROR) in error;
}

/** The kind of any thrown value; what is not ours counts as a fault of user code. */
export function errorKind(error: unknown): ErrorKind {
  return isWeirError(error) ? error.kind : 'function';
}

/** An error as plain data, so that it can cross threads, processes and REST. */
export interface ErrorInfo {
  readonly name: string;
  readonly code: ErrorCode | null;
  readonly kind: ErrorKind;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly stack: string;
  readonly causes: readonly ErrorInfo[];
}

export function toErrorInfo(error: unknown, depth = 0): ErrorInfo {
  const [cause, stack] = [fieldOf(error, 'cause'), fieldOf(error, 'stack')];
  const causes = cause === undefined || depth >= 8 ? [] : [toErrorInfo(cause, depth + 1)];
  const weir = isWeirError(error) ? error : null;
  return {
    name: error instanceof Error ? String(fieldOf(error, 'name')) : typeof error,
    code: weir?.code ?? null,
    kind: errorKind(error),
    message: messageOf(error),
    details: weir?.details ?? {},
    stack: typeof stack === 'string' ? maskSecrets(stack) : '',
    causes,
  };
}

/** Of an error; code of the user may stand behind it. */
function fieldOf(error: unknown, name: 'name' | 'stack' | 'cause'): unknown {
  if (!(error instanceof Error)) return undefined;
  try {
    return error[name];
  } catch {
    return undefined;
  }
}

export function fromErrorInfo(info: ErrorInfo): Error {
  const cause = info.causes[0] === undefined ? undefined : fromErrorInfo(info.causes[0]);
  const error =
    info.code === null
      ? new Error(info.message, cause === undefined ? undefined : { cause })
      : new WeirError(info.kind, info.message, { code: info.code, details: info.details, cause });
  error.name = info.name;
  error.stack = info.stack;
  return error;
}

/** The message of any thrown value without secrets, for use inside another. Never throws. */
export function messageOf(error: unknown): string {
  try {
    if (error instanceof Error) return maskSecrets(String(error.message));
    if (typeof error === 'object' && error !== null) return maskSecrets(textOf(error));
    return maskSecrets(String(error));
  } catch {
    return `${typeof error === 'object' ? 'an object' : `a ${typeof error}`} that cannot be shown`;
  }
}

const TEXT_MAX = 200;

/** An object that is no error: what it says of itself, or else its fields. */
function textOf(thrown: object): string {
  const { message } = thrown as { readonly message?: unknown };
  if (typeof message === 'string') return message;
  const text = JSON.stringify(thrown) ?? 'an object';
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}
