/**
 * One connection, as a sink uses it: statements one after another, each with an end to the waiting.
 * A session that broke stays broken; whoever owns it opens another. While a statement waits for a
 * lock, whoever holds that lock is looked up beside it, so that the error can name him.
 */
import pg from 'pg';
import type { Clock, Timer } from '@weir/core';
import type { DriverSettings } from '../address.ts';
import { CopyIn } from './copy-in.ts';
import { asPostgresError, LOCK_NOT_AVAILABLE, PostgresError } from './postgres-errors.ts';

export interface SessionSettings {
  /** What the driver needs; may hold a password, so it is never printed. */
  readonly client: DriverSettings;
  /** `host:port/database`, for messages. */
  readonly place: string;
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly lockTimeoutMs: number;
}

export type Row = Readonly<Record<string, unknown>>;

/** A connection to the server, as sinks use it. */
export interface Session {
  readonly isBroken: boolean;
  /**
   * Rows of a statement; of several, those of the last. `what` names it in errors. Without
   * `values` it goes as a simple query.
   */
  query(what: string, text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** Copies lines in COPY's text format. */
  copy(what: string, statement: string, rows: Buffer): Promise<void>;
  /** Ends the session in order; a server that does not answer is not waited for. */
  close(): Promise<void>;
  /** Breaks the connection: the server rolls back what is open, as soon as it notices. */
  destroy(): void;
}

export interface SessionOptions {
  readonly clock: Clock;
  /** The application name, by which the server lists the session. */
  readonly name: string;
  /** Breaks the connection when it is aborted. */
  readonly cut: AbortSignal;
  readonly findBlockers: FindBlockers | null;
}

/** Opens sessions; tests put theirs in its place. */
export type Connect = (settings: SessionSettings, options: SessionOptions) => Promise<Session>;

/** Looks up who holds what the session of this server process waits for. */
export type FindBlockers = (processId: number) => Promise<string | null>;

export class PostgresSession implements Session {
  readonly #client: pg.Client;
  readonly #settings: SessionSettings;
  readonly #clock: Clock;
  readonly #findBlockers: FindBlockers | null;
  readonly #cut: AbortSignal;
  readonly #onCut = (): void => this.destroy();
  #failure: Error | null = null;

  private constructor(
    client: pg.Client,
    settings: SessionSettings,
    { clock, cut, findBlockers }: SessionOptions,
  ) {
    this.#client = client;
    this.#settings = settings;
    this.#clock = clock;
    this.#findBlockers = findBlockers;
    this.#cut = cut;
    cut.addEventListener('abort', this.#onCut, { once: true });
    // Without a listener the driver would end the process when an idle connection breaks.
    client.on('error', (error: Error) => (this.#failure ??= error));
  }

  static async open(settings: SessionSettings, options: SessionOptions): Promise<PostgresSession> {
    const client = new pg.Client({
      ...settings.client,
      application_name: options.name,
      keepAlive: true,
      connectionTimeoutMillis: settings.connectTimeoutMs,
    });
    const session = new PostgresSession(client, settings, options);
    try {
      await client.connect();
      await client.query(setup(settings.lockTimeoutMs));
    } catch (error) {
      session.destroy();
      throw asPostgresError('connecting', settings.place, error);
    }
    return session;
  }

  get isBroken(): boolean {
    return this.#failure !== null;
  }

  async query(what: string, text: string, values?: readonly unknown[]): Promise<readonly Row[]> {
    return this.#guarded(what, async () => {
      const result: unknown =
        values === undefined
          ? await this.#client.query(text)
          : await this.#client.query(text, [...values]);
      const last = (Array.isArray(result) ? result.at(-1) : result) as { readonly rows: Row[] };
      return last.rows;
    });
  }

  async copy(what: string, statement: string, rows: Buffer): Promise<void> {
    await this.#guarded(what, () => this.#client.query(new CopyIn(statement, rows)).done);
  }

  async close(): Promise<void> {
    const limit = this.#clock.schedule(2000, 'postgres-close', () => this.destroy());
    try {
      if (this.#failure === null) await this.#client.end();
    } catch {
      // It is gone, which is what was asked for.
    } finally {
      limit.cancel();
      this.destroy();
    }
  }

  destroy(): void {
    this.#cut.removeEventListener('abort', this.#onCut);
    this.#failure ??= new Error('the connection was closed');
    streamOf(this.#client).destroy();
  }

  async #guarded<R>(what: string, run: () => Promise<R>): Promise<R> {
    let blockers: Promise<string | null> = Promise.resolve(null);
    let timer: Timer;
    const { lockTimeoutMs, requestTimeoutMs, place } = this.#settings;
    const lookMs = Math.min(lockTimeoutMs / 2, requestTimeoutMs);
    const cut = (): void => {
      this.#failure ??= new Error(`no answer for ${requestTimeoutMs} ms`);
      streamOf(this.#client).destroy(this.#failure);
    };
    timer = this.#clock.schedule(lookMs, 'postgres-lock', () => {
      blockers = this.#whoBlocks();
      timer = this.#clock.schedule(requestTimeoutMs - lookMs, 'postgres-request', cut);
    });
    try {
      return await run();
    } catch (error) {
      const told = asPostgresError(what, place, error);
      if (!(told instanceof PostgresError)) throw told;
      if (told.server === null) this.#failure ??= told;
      if (told.server?.sqlState === LOCK_NOT_AVAILABLE) throw lockedBy(told, await blockers);
      throw told;
    } finally {
      timer.cancel();
    }
  }

  async #whoBlocks(): Promise<string | null> {
    const { processID } = this.#client as unknown as { readonly processID: number | null };
    if (this.#findBlockers === null || processID === null) return null;
    return this.#findBlockers(processID).catch(() => null);
  }
}

function lockedBy(error: PostgresError, blockers: string | null): PostgresError {
  const holder =
    blockers === null ? 'who holds it could not be found out' : `it is held by ${blockers}`;
  return new PostgresError(`${error.message}: ${holder}`, {
    failure: error.failure,
    server: error.server,
    cause: error,
  });
}

/**
 * A transaction stays open for a checkpoint interval, whatever the server ends by default; and what
 * was acknowledged must survive a crash of the server.
 */
function setup(lockTimeoutMs: number): string {
  return [
    `set lock_timeout = ${Math.max(1, Math.round(lockTimeoutMs))}`,
    'set idle_in_transaction_session_timeout = 0',
    'set statement_timeout = 0',
    "set datestyle = 'ISO, YMD'",
    "select set_config('transaction_timeout', '0', false) " +
      "where current_setting('server_version_num')::int >= 170000",
    "select set_config('synchronous_commit', 'on', false) " +
      "where current_setting('synchronous_commit') = 'off'",
  ].join('; ');
}

function streamOf(client: pg.Client): { destroy(error?: Error): void } {
  const { connection } = client as unknown as {
    readonly connection: { readonly stream: { destroy(error?: Error): void } };
  };
  return connection.stream;
}
