/**
 * Where a database is. In types of our own: those of the driver come in a package that users would
 * have to install.
 */
import type { ConnectionOptions } from 'node:tls';

/** Where the database is. What is left out comes from `PGHOST`, `PGUSER` and so on. */
export interface PostgresAddress {
  readonly host?: string;
  /** Default 5432. */
  readonly port?: number;
  readonly database?: string;
  readonly user?: string;
  /** A function is asked at every connection, for passwords that change. */
  readonly password?: string | (() => string | Promise<string>);
  /** TLS as in Node's `tls.connect`; `true`: with the certificates that Node trusts. */
  readonly ssl?: boolean | ConnectionOptions;
}

/** What the driver is given: parts, or a text in their place. */
export interface DriverSettings extends PostgresAddress {
  readonly connectionString?: string;
}
