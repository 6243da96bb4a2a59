/**
 * Failures of PostgreSQL as errors of the engine, by SQLSTATE. `transient`: a server that is away
 * or full, a lock, a deadlock: answered by retries and then by the restart strategy. `user`:
 * something a restart does not change (a missing table or column, a right, a password); the job
 * ends and says what to change. `data`: the fault of a row, answered by the policy for bad rows.
 */
import { isWeirError, StorageUnavailableError, WeirError } from '@weir/core';

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
  readonly table: string | null;
  readonly column: string | null;
  readonly constraint: string | null;
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
export const UNDEFINED_OBJECT = '42704';
export const NOT_IN_PREREQUISITE_STATE = '55000';
export const LOCK_NOT_AVAILABLE = '55P03';
export const OUT_OF_MEMORY = '53200';
export const TOO_MANY_CONNECTIONS = '53300';

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
/** A row's own fault. */
const DATA: readonly string[] = ['21', '22', '23', '44', 'P0001'];
/** Begin like those above, but no row is at fault. */
const NOT_DATA: readonly string[] = ['22023'];

export function classOf(sqlState: string): FailureClass {
  const isIn = (list: readonly string[]): boolean => list.some((it) => sqlState.startsWith(it));
  if (isIn(TRANSIENT)) return 'transient';
  return isIn(DATA) && !isIn(NOT_DATA) ? 'data' : 'user';
}

interface DriverError {
  readonly code?: unknown;
  readonly severity?: unknown;
  readonly message?: unknown;
  readonly detail?: unknown;
  readonly hint?: unknown;
  readonly where?: unknown;
  readonly table?: unknown;
  readonly column?: unknown;
  readonly constraint?: unknown;
}

/** What a call of the driver ran into. `what`: "connecting", "writing to orders". */
export function asPostgresError(what: string, place: string, error: unknown): Error {
  if (error instanceof PostgresError || isWeirError(error)) return error;
  const server = serverFailure(error);
  if (server === null)
    return new PostgresError(
      `PostgreSQL at ${place} does not answer ${what}: ${messageOf(error)}`,
      { failure: 'transient', cause: error },
    );
  const detail = server.detail === null ? '' : ` (${server.detail})`;
  const hint = hintOf(server);
  return new PostgresError(
    `PostgreSQL at ${place} refuses ${what}: ${server.message}${detail}${hint}`,
    { failure: classOf(server.sqlState), server, cause: error },
  );
}

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
    table: text(told.table),
    column: text(told.column),
    constraint: text(told.constraint),
  };
}

function hintOf({ sqlState, hint }: ServerFailure): string {
  if (sqlState === TOO_MANY_CONNECTIONS)
    return (
      '; a sink needs two connections for each subtask and one more: raise max_connections or ' +
      "the role's limit, or lower the parallelism"
    );
  if (sqlState === '42501') return '; grant the role this right';
  return hint === null ? '' : `; ${hint}`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}

/** The error of a sink that a failure of PostgreSQL becomes; others pass unchanged. */
export function asSinkError(error: unknown): unknown {
  if (!(error instanceof PostgresError)) return error;
  const { server } = error;
  const details = server === null ? {} : { sqlState: server.sqlState };
  const options = { code: 'SINK_UNAVAILABLE', cause: error, details } as const;
  return error.failure === 'transient'
    ? new StorageUnavailableError(error.message, options)
    : new WeirError('user', error.message, options);
}

export async function asSinkErrors<R>(run: () => Promise<R>): Promise<R> {
  try {
    return await run();
  } catch (error) {
    throw asSinkError(error);
  }
}
