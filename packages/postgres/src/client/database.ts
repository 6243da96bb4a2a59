/**
 * A database as one sink uses it: sessions, and steps that are tried again while the server is
 * away. Only steps that may be carried out twice go through `retry`.
 */
import type { Clock, ConnectorEnvironment } from '@weir/core';
import { PostgresError } from './postgres-errors.ts';
import type { Connect, Session, SessionSettings } from './session.ts';

const RETRY_DELAY_MS = 50;
const RETRY_DELAY_MAX_MS = 2000;

export class Database {
  readonly #settings: SessionSettings;
  readonly #clock: Clock;
  readonly #retryForMs: number;
  readonly #open: Connect;
  /** For short steps: committing, looking up. */
  #session: Promise<Session> | null = null;
  readonly #name: string;
  #isClosed = false;

  constructor(
    environment: Pick<ConnectorEnvironment, 'clock'>,
    settings: SessionSettings,
    options: { readonly name: string; readonly retryForMs: number; readonly connect: Connect },
  ) {
    this.#clock = environment.clock;
    this.#settings = settings;
    this.#name = options.name;
    this.#retryForMs = options.retryForMs;
    this.#open = options.connect;
  }

  get place(): string {
    return this.#settings.place;
  }

  /**
   * A session of its own, for whoever closes it, listed under `name`. Waits while the server is
   * away.
   */
  openSession(name: string): Promise<Session> {
    return this.#retry(() => this.#connect(name));
  }

  /** Runs a step that may be carried out twice; tries it again while the server is away. */
  withSession<R>(run: (session: Session) => Promise<R>): Promise<R> {
    return this.#retry(async () => run(await this.#shared()));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const session = await this.#session?.catch(() => null);
    await session?.close();
  }

  async #shared(): Promise<Session> {
    const session = await this.#session?.catch(() => null);
    if (session !== null && session !== undefined && !session.isBroken) return session;
    session?.destroy();
    this.#session = this.#connect(this.#name);
    return this.#session;
  }

  #connect(name: string): Promise<Session> {
    return this.#open(this.#settings, {
      clock: this.#clock,
      name,
      findBlockers: (processId) => this.#blockersOf(processId),
    });
  }

  async #retry<R>(step: () => Promise<R>): Promise<R> {
    const startedAt = this.#clock.now();
    for (let delayMs = RETRY_DELAY_MS; ; delayMs = Math.min(2 * delayMs, RETRY_DELAY_MAX_MS)) {
      try {
        return await step();
      } catch (error) {
        const isTransient = error instanceof PostgresError && error.failure === 'transient';
        const triedMs = this.#clock.now() - startedAt;
        if (!isTransient || this.#isClosed || triedMs + delayMs > this.#retryForMs) throw error;
        await new Promise<void>((resolve) => {
          this.#clock.schedule(delayMs, 'postgres-retry', resolve);
        });
      }
    }
  }

  /** On a connection of its own, since the shared one may be what waits. */
  async #blockersOf(processId: number): Promise<string | null> {
    const session = await this.#open(this.#settings, {
      clock: this.#clock,
      name: 'weir lock look-up',
      findBlockers: null,
    });
    try {
      const rows = await session.query('looking up locks', BLOCKERS, [processId]);
      const found = rows.map((row) => String(row['holder']));
      return found.length === 0 ? null : found.join(', ');
    } finally {
      await session.close();
    }
  }
}

/** Sessions that hold up the given one, and prepared transactions, which have no session. */
const BLOCKERS = `
select format('process %s of %s (%s): %s', a.pid, a.usename,
  coalesce(nullif(a.application_name, ''), 'no application name'), left(a.query, 80)) as holder
from unnest(pg_blocking_pids($1)) as b(pid) join pg_stat_activity a on a.pid = b.pid
union
select format('prepared transaction %s of %s', p.gid, p.owner)
from pg_prepared_xacts p
join pg_locks own on own.transactionid = p.transaction and own.granted and own.pid is null
join pg_locks h on h.virtualtransaction = own.virtualtransaction and h.granted and h.pid is null
join pg_locks w on w.pid = $1 and not w.granted
where h.transactionid = w.transactionid
  or (h.locktype = 'relation' and h.relation = w.relation and h.database = w.database)`;
