/**
 * Failures of PostgreSQL as errors of the engine, by SQLSTATE. `transient`: a server that is away
 * or full, a lock, a deadlock: answered by retries and then by the restart strategy. `user`:
 * something a restart does not change (a missing table or column, a right, a password); the job
 * ends and says what to change. `data`: the fault of a row, answered by the policy for bad rows.
 */
import { connectionTrouble, isWeirError, StorageUnavailableError, WeirError } from '@weir/core';

export type FailureClass = 'transient' | 'user' | 'data';

/** What the server tells of a failure; `null` where it told nothing. */
export interface ServerFailure {
  readonly sqlState: string;
  readonly message: string;
  /** `Key (id)=(5) already exists.` */
  readonly detail: string | null;
  readonly hint: string | null;
  /** `COPY orders, line 3` */
  readonly where: string | null;
  readonly column: string | null;
  /** The type, or domain, that refuses a value. */
  readonly dataType: string | null;
  /** The function of the server that found it: what tells a row from a right, by row security. */
  readonly routine: string | null;
}

export class PostgresError extends Error {
  readonly failure: FailureClass;
  /** `null`: the connection broke, so nobody knows whether the statement was carried out. */
  readonly server: ServerFailure | null;

  constructor(
    message: string,
    options: {
      readonly failure: FailureClass;
      readonly server?: ServerFailure | null;
      readonly cause?: unknown;
    },
  ) {
    super(message, { cause: options.cause });
    this.name = 'PostgresError';
    this.failure = options.failure;
    this.server = options.server ?? null;
  }
}

/** States of PostgreSQL that the sink asks for by name. */
export const NOT_NULL_VIOLATION = '23502';
export const UNDEFINED_OBJECT = '42704';
export const NOT_IN_PREREQUISITE_STATE = '55000';
export const LOCK_NOT_AVAILABLE = '55P03';
export const OUT_OF_MEMORY = '53200';
const TOO_MANY_CONNECTIONS = '53300';

/** Classes (first two digits) or whole states that a later try may mend. */
const TRANSIENT: readonly string[] = [
  '08', // connection exceptions
  '25P03', // idle in transaction for too long
  '25P04', // transaction time-out
  '25006', // read-only: a standby, for as long as a failover lasts
  '40', // serialisation failures, deadlocks
  '53', // out of connections, memory, disk
  '55P03', // a lock of somebody else
  '55006',
  '57', // shutting down, starting up, cancelled by an administrator
  '58', // input and output of the server
  'XX', // internal
];
/**
 * A row's own fault: values, constraints, what functions of triggers raise, and limits that a value
 * exceeds (a key too long for its index, JSON too deep).
 */
const DATA: readonly string[] = ['21', '22', '23', '2F', '38', '39', '44', 'P0', '54000', '54001'];
/** Begin like those above, but no row is at fault. */
const NOT_DATA: readonly string[] = ['22023'];
/** Classes that PostgreSQL or the standard define; others are raised by a user's function. */
const KNOWN = new Set(
  (
    '00 01 02 03 08 09 0A 0B 0F 0L 0P 0Z 20 21 22 23 24 25 26 27 28 2B 2D 2F 34 38 39 3B 3D 3F ' +
    '40 42 44 53 54 55 57 58 72 F0 HV P0 XX'
  ).split(' '),
);
/** Refuses rows by row security, and by the condition of a view. */
const ROW_SECURITY_ROUTINE = 'ExecWithCheckOptions';

export function classOf(sqlState: string, routine: string | null = null): FailureClass {
  const isIn = (list: readonly string[]): boolean => list.some((it) => sqlState.startsWith(it));
  if (isIn(TRANSIENT)) return 'transient';
  if (routine === ROW_SECURITY_ROUTINE || !KNOWN.has(sqlState.slice(0, 2))) return 'data';
  return isIn(DATA) && !isIn(NOT_DATA) ? 'data' : 'user';
}

/** What happened and what to do, in words of the user, by state or class; the longest counts. */
const ADVICE: Readonly<Record<string, string>> = {
  [NOT_NULL_VIOLATION]: 'a column must have a value; write it, or give it a default',
  '25006':
    'it takes no writes now; connect to the primary, or set default_transaction_read_only off',
  '28': 'it does not let this user in; check user and password in connection, and its pg_hba.conf',
  '28P01': 'user or password is wrong; give the right ones in connection',
  '3D000': 'there is no such database; create it, or correct its name in connection',
  '42501': 'a right is missing; grant the role this right',
  '42P01': 'the table is gone; create it again, or give another one',
  '42703': 'the column is gone; add it again, or take it out of columns',
  '53100': 'its disk is full; make room',
  [TOO_MANY_CONNECTIONS]:
    'no connection is left; a sink needs two connections for each subtask and one more: raise ' +
    "max_connections or the role's limit, or lower the parallelism",
  [LOCK_NOT_AVAILABLE]:
    'somebody else holds a lock for longer than lockTimeoutMs; end what holds it',
  '57014': 'somebody, or a time-out of the server, ended the statement',
  '57P01': 'it is being shut down, or an administrator ended the session',
  '57P03': 'it is starting or stopping',
};

interface DriverError {
  readonly code?: unknown;
  readonly severity?: unknown;
  readonly message?: unknown;
  readonly detail?: unknown;
  readonly hint?: unknown;
  readonly where?: unknown;
  readonly column?: unknown;
  readonly dataType?: unknown;
  readonly routine?: unknown;
}

/** What a call of the driver ran into. `what`: "connecting", "writing to orders". */
export function asPostgresError(what: string, place: string, error: unknown): Error {
  if (error instanceof PostgresError || isWeirError(error)) return error;
  const server = serverFailure(error);
  if (server === null) return notAnswered(what, place, error);
  const detail = server.detail === null ? '' : ` (${server.detail})`;
  const hint = server.hint === null ? '' : `; ${server.hint}`;
  const advice = ADVICE[server.sqlState] ?? ADVICE[server.sqlState.slice(0, 2)];
  const said = `${server.message}${detail}${hint}`;
  return new PostgresError(
    `PostgreSQL at ${place} refuses ${what}: ` +
      (advice === undefined ? said : `${advice} (it says: ${said})`),
    { failure: classOf(server.sqlState, server.routine), server, cause: error },
  );
}

function notAnswered(what: string, place: string, error: unknown): PostgresError {
  const { text, isFinal } = connectionTrouble(error);
  // What the driver finds out by itself, before or instead of a server's refusal.
  const known = DRIVER_REFUSALS.find(({ says }) => says.test(text));
  const words = known === undefined ? text : `${known.advice} (${text})`;
  return new PostgresError(`PostgreSQL at ${place} does not answer ${what}: ${words}`, {
    failure: isFinal || known !== undefined ? 'user' : 'transient',
    cause: error,
  });
}

const DRIVER_REFUSALS: readonly { readonly says: RegExp; readonly advice: string }[] = [
  {
    says: /password must be a (non-empty )?string|SASL_SIGNATURE_MISMATCH/,
    advice: 'it asks for a password, and there is none; give it in connection',
  },
  {
    says: /does not support SSL/,
    advice: 'it takes no TLS; leave ssl and sslmode out of connection, or switch TLS on there',
  },
];

/** `null` unless the server itself answered with an error. */
function serverFailure(error: unknown): ServerFailure | null {
  if (!(error instanceof Error)) return null;
  const told = error as DriverError;
  // Errors of sockets have a code as well, but no severity.
  if (typeof told.code !== 'string' || typeof told.severity !== 'string') return null;
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  return {
    sqlState: told.code,
    message: error.message,
    detail: text(told.detail),
    hint: text(told.hint),
    where: text(told.where),
    column: text(told.column),
    dataType: text(told.dataType),
    routine: text(told.routine),
  };
}

/** The error of a sink that a failure of PostgreSQL becomes; others pass unchanged. */
export function asSinkError(error: unknown): unknown {
  if (!(error instanceof PostgresError)) return error;
  const { server } = error;
  const details = server === null ? {} : { sqlState: server.sqlState };
  return error.failure === 'transient'
    ? new StorageUnavailableError(error.message, {
        code: 'SINK_UNAVAILABLE',
        cause: error,
        details,
      })
    : new WeirError('user', error.message, { code: 'SINK_REFUSED', cause: error, details });
}

export async function asSinkErrors<R>(run: () => Promise<R>): Promise<R> {
  try {
    return await run();
  } catch (error) {
    throw asSinkError(error);
  }
}
