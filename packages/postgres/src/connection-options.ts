/** What a sink needs to reach a database, and how long it waits for it. */
import pg from 'pg';
import { ConfigurationError, messageOf } from '@weir/core';
import type { ConnectorEnvironment } from '@weir/core';
import type { DriverSettings, PostgresAddress } from './address.ts';
import { Database } from './client/database.ts';
import { PostgresSession } from './client/session.ts';
import type { Connect, SessionSettings } from './client/session.ts';

export interface PostgresConnectionOptions {
  /**
   * `postgres://user:password@host:port/database?sslmode=verify-full`, or its parts. Connect to the
   * server itself, not through a pool that gives each transaction another session.
   */
  readonly connection: string | PostgresAddress;
  /** Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** A server that does not answer a statement for so long is taken for gone. Default 60 s. */
  readonly requestTimeoutMs?: number;
  /** How long a lock of somebody else is waited for; then the error names him. Default 20 s. */
  readonly lockTimeoutMs?: number;
  /**
   * How long a server that is away is waited for before the job is restarted by its restart
   * strategy. Default 60 s.
   */
  readonly retryForMs?: number;
}

/** How to reach the database, checked when the sink is made: wrong text is refused at once. */
export type OpenDatabase = (
  environment: Pick<ConnectorEnvironment, 'clock' | 'logger' | 'signal'>,
  applicationName: string,
  /** One try within a few seconds, for a question; default: as the options say. */
  tries?: 'once',
) => Database;

const ASK_LIMIT_MS = 2000;

/** `option` names the sink in messages; `connect` stands in for the driver in tests. */
export function databaseOf(
  option: string,
  options: PostgresConnectionOptions & { readonly table: string },
  connect: Connect = (settings, session) => PostgresSession.open(settings, session),
): OpenDatabase {
  const { requestTimeoutMs = 60_000, lockTimeoutMs = 20_000, retryForMs = 60_000 } = options;
  const { connectTimeoutMs = 10_000 } = options;
  const waits = { connectTimeoutMs, requestTimeoutMs, lockTimeoutMs, retryForMs };
  for (const [name, value] of Object.entries(waits))
    checkWhole(option, name, { value, least: name === 'retryForMs' ? 0 : 1 });
  if (lockTimeoutMs >= requestTimeoutMs)
    throw new ConfigurationError(
      `${option} lockTimeoutMs: ${lockTimeoutMs} is not allowed, give less than requestTimeoutMs ` +
        `(${requestTimeoutMs}), or a lock could not be told from a server that is gone`,
    );
  const client = clientConfig(option, options.connection);
  const settings: SessionSettings = {
    client,
    place: placeOf(option, client),
    connectTimeoutMs,
    requestTimeoutMs,
    lockTimeoutMs,
  };
  const asked = {
    ...settings,
    connectTimeoutMs: Math.min(connectTimeoutMs, ASK_LIMIT_MS),
    requestTimeoutMs: Math.min(requestTimeoutMs, ASK_LIMIT_MS),
    lockTimeoutMs: Math.min(lockTimeoutMs, ASK_LIMIT_MS / 2),
  };
  const sink = `${option} ${options.table}`;
  return (environment, name, tries) =>
    tries === 'once'
      ? new Database(environment, asked, { sink, name, retryForMs: 0, connect })
      : new Database(environment, settings, { sink, name, retryForMs, connect });
}

export function checkWhole(
  option: string,
  name: string,
  { value, least }: { readonly value: number | undefined; readonly least: number },
): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return;
  throw new ConfigurationError(
    `${option} ${name}: ${value} is not allowed, give a whole number of at least ${least}`,
  );
}

function clientConfig(option: string, connection: string | PostgresAddress): DriverSettings {
  if (typeof connection !== 'string') return { ...connection };
  if (!/^postgres(?:ql)?:\/\//.test(connection))
    // Not quoted in the message: it may hold a password.
    throw new ConfigurationError(
      `${option} connection: give postgres://user@host:port/database, or an object of its parts`,
    );
  try {
    new URL(connection);
  } catch {
    throw new ConfigurationError(
      `${option} connection: the address cannot be read; characters such as @ and / in user or ` +
        'password must be written as %40 and %2F',
    );
  }
  return { connectionString: connection };
}

/** Where the driver connects to, what it takes from `PGHOST` and so on included. */
function placeOf(option: string, settings: DriverSettings): string {
  try {
    const { host, port, database } = new pg.Client(settings);
    return `${host}:${port}/${database ?? ''}`;
  } catch (error) {
    // Such as the file of a certificate that is not there.
    throw new ConfigurationError(`${option} connection: ${messageOf(error)}`, { cause: error });
  }
}
