/** Both sinks stand the cases that every sink must stand, against a real server. */
import pg from 'pg';
import type { Sink } from '@weir/core';
import { sinkConformance } from '@weir/testing';
import type { ConformanceSystem, ProcessGate } from '@weir/testing';
import { PostgresSession } from '../../packages/postgres/src/client/session.ts';
import type { Connect } from '../../packages/postgres/src/client/session.ts';
import { postgresSink, postgresUpsertSink } from '../../packages/postgres/src/index.ts';
import { fresh, postgresTest } from './support/shared-server.ts';

/**
 * A table of its own. Sessions of processes that died in worlds before are ended. Looked at through
 * one connection for all worlds, since there are some hundreds.
 */
class Table implements ConformanceSystem<number> {
  readonly name: string = fresh('rows');
  readonly #reader: pg.Client;
  #made: Promise<unknown> | null = null;

  constructor(reader: pg.Client) {
    this.#reader = reader;
  }

  /** Made by the first process that connects. */
  made(): Promise<unknown> {
    this.#made ??= this.#reader.query(
      'select pg_terminate_backend(pid) from pg_stat_activity ' +
        "where application_name ~ '^weir ' and datname = current_database(); " +
        `create table ${this.name} (id bigint primary key)`,
    );
    return this.#made;
  }

  async visible(): Promise<readonly number[]> {
    await this.made();
    const { rows } = await this.#reader.query<{ id: string }>(`select id from ${this.name}`);
    return rows.map(({ id }) => Number(id));
  }

  async unfinished(): Promise<readonly string[]> {
    const own = `select gid from pg_prepared_xacts where starts_with(gid, '${this.name}-')`;
    const { rows } = await this.#reader.query<{ gid: string }>(own);
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
    const reader = new pg.Client({ connectionString: server.url });
    await reader.connect();
    const cases = sinkConformance(
      (table: Table, gate) =>
        make({ connection: server.url, table: table.name }, connectThrough(table, gate)),
      () => new Table(reader),
      { record: (n) => n },
    );
    for (const { name, run } of cases) await context.test(`${sinkName}: ${name}`, run);
    await reader.end();
  });
