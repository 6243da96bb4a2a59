/** Both sinks stand the cases that every sink must stand, against a real server. */
import pg from 'pg';
import type { Sink } from '@weir/core';
import { sinkConformance } from '@weir/testing';
import type { ConformanceSystem, ProcessGate } from '@weir/testing';
import { PostgresSession } from '../../packages/postgres/src/client/session.ts';
import type { Connect } from '../../packages/postgres/src/client/session.ts';
import { postgresSink, postgresUpsertSink } from '../../packages/postgres/src/index.ts';
import type { PostgresServer } from '../../tools/postgres/server.ts';
import { fresh, postgresTest } from './support/shared-server.ts';

/** One connection to look through for all worlds, of which there are some hundreds. */
class Reader {
  readonly #server: PostgresServer;
  #client: Promise<pg.Client>;

  constructor(server: PostgresServer) {
    this.#server = server;
    this.#client = this.#open();
  }

  get canRestart(): boolean {
    return this.#server.isOwn;
  }

  async query<R extends pg.QueryResultRow>(text: string): Promise<readonly R[]> {
    return (await (await this.#client).query<R>(text)).rows;
  }

  /** Without a checkpoint of its own, as after a crash. */
  async restart(): Promise<void> {
    await this.close();
    await this.#server.restart('immediate');
    this.#client = this.#open();
  }

  /** Sessions of processes that died. */
  async endSinks(): Promise<void> {
    await this.query(
      'select pg_terminate_backend(pid) from pg_stat_activity ' +
        "where application_name ~ '^weir ' and datname = current_database()",
    );
  }

  async close(): Promise<void> {
    await (await this.#client).end();
  }

  async #open(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.#server.url });
    await client.connect();
    return client;
  }
}

/** A table of its own. Sessions of processes that died in worlds before are ended. */
class Table implements ConformanceSystem<number> {
  readonly name: string = fresh('rows');
  readonly restart?: () => Promise<void>;
  readonly #reader: Reader;
  #made: Promise<unknown> | null = null;

  constructor(reader: Reader) {
    this.#reader = reader;
    if (reader.canRestart) this.restart = () => reader.restart();
  }

  /** Made by the first process that connects. */
  made(): Promise<unknown> {
    this.#made ??= this.#reader
      .endSinks()
      .then(() => this.#reader.query(`create table ${this.name} (id bigint primary key)`));
    return this.#made;
  }

  async visible(): Promise<readonly number[]> {
    await this.made();
    const rows = await this.#reader.query<{ id: string }>(`select id from ${this.name}`);
    return rows.map(({ id }) => Number(id));
  }

  async unfinished(): Promise<readonly string[]> {
    const own = `select gid from pg_prepared_xacts where starts_with(gid, '${this.name}-')`;
    const rows = await this.#reader.query<{ gid: string }>(own);
    return rows.map(({ gid }) => gid);
  }
}

/** Every statement of a process goes through its gate. */
function connectThrough(table: Table, gate: ProcessGate): Connect {
  return async (settings, options) => {
    await table.made();
    const session = await gate.call('connect', () => PostgresSession.open(settings, options));
    return {
      get isBroken() {
        return session.isBroken;
      },
      query: (what, text, values) => gate.call(what, () => session.query(what, text, values)),
      copy: (what, statement, rows) => gate.call(what, () => session.copy(what, statement, rows)),
      close: () => session.close(),
      destroy: () => session.destroy(),
    };
  };
}

type Make = (place: Place, connect: Connect) => Sink<number>;

interface Place {
  readonly connection: string;
  readonly table: string;
}

const COLUMNS = { id: (n: number): number => n };

const SINKS: Readonly<Record<string, Make>> = {
  postgresSink: (place, connect) =>
    postgresSink<number>({ ...place, columns: COLUMNS, transactionPrefix: place.table }, connect),
  postgresUpsertSink: (place, connect) =>
    postgresUpsertSink<number>({ ...place, columns: COLUMNS, key: ['id'] }, connect),
};

for (const [sinkName, make] of Object.entries(SINKS))
  postgresTest(`${sinkName} stands the cases of every sink`, async (server, context) => {
    const reader = new Reader(server);
    const cases = sinkConformance(
      (table: Table, gate) =>
        make({ connection: server.url, table: table.name }, connectThrough(table, gate)),
      () => new Table(reader),
      { record: (n) => n },
    );
    for (const { name, run } of cases) await context.test(`${sinkName}: ${name}`, run);
    await reader.endSinks();
    await reader.close();
  });
