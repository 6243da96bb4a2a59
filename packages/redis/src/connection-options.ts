/** What a sink needs to reach a server, and how long it waits for it. */
import type { ConnectionOptions } from 'node:tls';
import { ConfigurationError } from '@weir/core';
import type { ConnectorEnvironment } from '@weir/core';
import { Server } from './client/server.ts';
import { RedisSession } from './client/session.ts';
import type { Connect, SessionSettings } from './client/session.ts';

export interface RedisAddress {
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** Default 6379. */
  readonly port?: number;
  /** Number of the database. Default 0. */
  readonly database?: number;
  readonly username?: string;
  /** A function is asked at every connection, for passwords that change. */
  readonly password?: string | (() => string | Promise<string>);
  /** As in Node's `tls.connect`; `true`: with the certificates that Node trusts. */
  readonly tls?: boolean | ConnectionOptions;
}

export interface RedisConnectionOptions {
  /** `redis://user:password@host:port/0`, `rediss://…` with TLS, or its parts. */
  readonly connection: string | RedisAddress;
  /** Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** A server that does not answer for so long is taken for gone. Default 60 s. */
  readonly requestTimeoutMs?: number;
  /**
   * How long a server that is away or full is waited for before the job is restarted by its restart
   * strategy. Default 60 s.
   */
  readonly retryForMs?: number;
  /**
   * Whether to write to a server whose `maxmemory-policy` lets it remove keys: results may vanish,
   * and with them the memory of what was written. Default false: it is refused.
   */
  readonly allowEviction?: boolean;
}

type ServerEnvironment = Pick<ConnectorEnvironment, 'clock' | 'logger' | 'signal'>;

/** How to reach the server, checked when the sink is made: wrong text is refused at once. */
export interface ServerFactory {
  readonly allowEviction: boolean;
  open(environment: ServerEnvironment, name: string): Server;
  /** One try, within a few seconds. */
  ask(environment: ServerEnvironment): Server;
}

const ASK_LIMIT_MS = 2000;

/** `option` names the sink in messages; `connect` stands in for a connection in tests. */
export function serverOf(
  option: string,
  options: RedisConnectionOptions,
  connect: Connect = (settings, session) => RedisSession.open(settings, session),
): ServerFactory {
  const { connectTimeoutMs = 10_000, requestTimeoutMs = 60_000, retryForMs = 60_000 } = options;
  checkWhole(`${option} connectTimeoutMs`, connectTimeoutMs, 1);
  checkWhole(`${option} requestTimeoutMs`, requestTimeoutMs, 1);
  checkWhole(`${option} retryForMs`, retryForMs, 0);
  const address = addressOf(option, options.connection);
  const { host = '127.0.0.1', port = 6379, database = 0, tls = false } = address;
  checkWhole(`${option} connection.port`, port, 1);
  checkWhole(`${option} connection.database`, database, 0);
  const settings: SessionSettings = {
    host,
    port,
    database,
    username: address.username ?? null,
    password: address.password ?? null,
    tls: tls === true ? {} : tls === false ? null : tls,
    place: `${host}:${port}/${database}`,
    connectTimeoutMs,
    requestTimeoutMs,
  };
  const asked = { ...settings, connectTimeoutMs: ASK_LIMIT_MS, requestTimeoutMs: ASK_LIMIT_MS };
  return {
    allowEviction: options.allowEviction ?? false,
    open: (environment, name) =>
      new Server(environment, settings, { sink: option, name, retryForMs, connect }),
    ask: (environment) =>
      new Server(environment, asked, {
        sink: option,
        name: 'weir:settings',
        retryForMs: 0,
        connect,
      }),
  };
}

export function checkWhole(name: string, value: number | undefined, least: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return;
  throw new ConfigurationError(
    `${name}: ${value} is not allowed, give a whole number of at least ${least}`,
  );
}

function addressOf(option: string, connection: string | RedisAddress): RedisAddress {
  if (typeof connection !== 'string') return connection;
  // Not quoted in messages: it may hold a password.
  if (!/^rediss?:\/\//.test(connection))
    throw new ConfigurationError(
      `${option} connection: give redis://user@host:port/database, or an object of its parts`,
    );
  const url = URL.canParse(connection) ? new URL(connection) : null;
  const database = url === null ? '' : url.pathname.slice(1);
  if (url === null || url.hostname === '' || !/^\d*$/.test(database))
    throw new ConfigurationError(
      `${option} connection: the address cannot be read; it ends in the number of a database, ` +
        'and characters such as @ and / in user or password must be written as %40 and %2F',
    );
  const { username, password } = url;
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    ...(url.port === '' ? {} : { port: Number(url.port) }),
    ...(database === '' ? {} : { database: Number(database) }),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    tls: url.protocol === 'rediss:',
  };
}
