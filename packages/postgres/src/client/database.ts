/**
 * A database as one sink uses it: sessions, and steps that are tried again while the server is
 * away. Only steps that may be carried out twice go through `run` and `withSession`; they fail with
 * errors of the sink.
 */
import { Retries } from '@weir/core';
import type { Clock, ConnectorEnvironment } from '@weir/core';
import { asSinkErrors } from './postgres-errors.ts';
import type { Connect, Session, SessionSettings } from './session.ts';

export interface DatabaseOptions {
  /** Names the sink in log and errors: `postgresSink orders`. */
  readonly sink: string;
  /** By which the server lists the shared session. */
  readonly name: string;
  readonly retryForMs: number;
  readonly connect: Connect;
}

export class Database {
  readonly #settings: SessionSettings;
  readonly #clock: Clock;
  readonly #options: DatabaseOptions;
  readonly #retries: Retries;
  /** For short steps: committing, looking up. */
  #session: Promise<Session> | null = null;

  constructor(
    environment: Pick<ConnectorEnvironment, 'clock' | 'logger' | 'signal'>,
    settings: SessionSettings,
    options: DatabaseOptions,
  ) {
    this.#clock = environment.clock;
    this.#settings = settings;
    this.#options = options;
    const { sink, retryForMs } = options;
    this.#retries = new Retries(environment, { name: sink, retryForMs });
  }

  get place(): string {
    return this.#settings.place;
  }

  /** Runs a step that may be carried out twice; tries it again while the server is away. */
  run<R>(step: () => Promise<R>): Promise<R> {
    return this.#retries.run(() => asSinkErrors(step));
  }

  /** The same for a step over the shared session. */
  withSession<R>(step: (session: Session) => Promise<R>): Promise<R> {
    return this.run(async () => step(await this.session()));
  }

  /** The shared session, as long as it holds. One try. */
  async session(): Promise<Session> {
    const session = await this.#session?.catch(() => null);
    if (session !== null && session !== undefined && !session.isBroken) return session;
    session?.destroy();
    this.#session = this.openSession(this.#options.name);
    return this.#session;
  }

  /** A session of its own, for whoever closes it, listed under `name`. One try. */
  openSession(name: string): Promise<Session> {
    return this.#options.connect(this.#settings, {
      clock: this.#clock,
      name,
      cut: this.#retries.cut,
      findBlockers: (processId) => this.#blockersOf(processId),
    });
  }

  async close(): Promise<void> {
    const session = await this.#session?.catch(() => null);
    await session?.close();
    this.#retries.close();
  }

  /** On a connection of its own, since the shared one may be what waits. */
  async #blockersOf(processId: number): Promise<string | null> {
    const session = await this.#options.connect(this.#settings, {
      clock: this.#clock,
      name: 'weir lock look-up',
      cut: this.#retries.cut,
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
