import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WeirError } from '@weir/core';
import type { ConnectorEnvironment, Sink, SinkGuaranteeFacts } from '@weir/core';
import { ManualClock } from '@weir/core/internal/base/clock';
import type { Connect } from './client/session.ts';
import { postgresSink } from './postgres-sink.ts';
import { postgresUpsertSink } from './postgres-upsert-sink.ts';

const BASE = {
  connection: 'postgres://me:s3cret@db/shop',
  table: 'orders',
  columns: { id: (n: number) => n },
};

test('options that are not allowed are refused while the graph is built', () => {
  const refuse = (options: object, message: RegExp): void => {
    assert.throws(() => postgresSink({ ...BASE, ...options }), { message, kind: 'user' });
  };
  refuse({ table: 'a.b.c' }, /table: "a\.b\.c" is not allowed, give table or schema\.table/);
  refuse({ columns: {} }, /columns: give at least one column/);
  refuse({ columns: { id: 5 } }, /columns\.id: give the name of a field, a function, or an object/);
  const value = (n: number): number => n;
  refuse(
    { columns: { id: { type: 'int', value } } },
    /columns\.id\.type: "int" .* smallint or int/,
  );
  refuse({ onBadRow: 'Fail' }, /onBadRow: "Fail" is not allowed, give fail or skip/);
  refuse({ onBadRow: { table: 'bad' } }, /onBadRow: undefined is not allowed, give table or/);
  refuse({ onUnresolvedCommit: 'Fail' }, /onUnresolvedCommit: "Fail" .* give fail or warn/);
  refuse({ connection: 'postgres://db/shop?sslrootcert=/none.pem' }, /connection: .*\/none\.pem/);
  refuse({ batchSize: 0 }, /batchSize: 0 is not allowed, give a whole number of at least 1/);
  refuse({ lockTimeoutMs: 90_000 }, /give less than requestTimeoutMs \(60000\)/);
  refuse({ transactionPrefix: "a'b" }, /transactionPrefix: "a'b" is not allowed/);
  refuse({ connection: 'db:5432' }, /give postgres:\/\/user@host:port\/database/);
  assert.throws(
    () => postgresUpsertSink({ ...BASE, key: ['name'] }),
    /key: name is not among the columns that are written/,
  );
  assert.throws(() => postgresUpsertSink({ ...BASE, key: [] }), /key: give at least one column/);
});

test('a password is never part of a message', () => {
  const wrong = { ...BASE, connection: 'postgres://me:s3/cret@db:port/shop' };
  assert.throws(
    () => postgresSink(wrong),
    (error: Error) => /must be written as %40/.test(error.message) && !/cret/.test(error.message),
  );
});

test('what a connection leaves out is named as the driver fills it in', async () => {
  const places: string[] = [];
  const connect: Connect = async (settings) => {
    places.push(settings.place);
    throw new WeirError('user', 'not here', { code: 'SINK_REFUSED' });
  };
  const environment = { clock: new ManualClock() } as unknown as ConnectorEnvironment;
  for (const connection of [{ user: 'me', host: 'db' }, 'postgres://me@db', { database: 'shop' }]) {
    const sink: Sink<number> & SinkGuaranteeFacts = postgresSink({ ...BASE, connection }, connect);
    await assert.rejects(sink.askOuterSystem!(environment, { parallelism: 1 }), /not here/);
  }
  const { PGHOST = 'localhost', PGPORT = '5432' } = process.env;
  assert.deepEqual(places, [`db:${PGPORT}/me`, `db:${PGPORT}/me`, `${PGHOST}:${PGPORT}/shop`]);
});

test('the sinks tell the planner how they write', () => {
  assert.equal(postgresSink(BASE).write, 'two-phase-commit');
  const upsert = postgresUpsertSink({ ...BASE, key: ['id'], converges: true });
  assert.equal(upsert.write, 'idempotent');
  assert.equal((upsert as { converges?: boolean }).converges, true);
  assert.ok(!('createCommitter' in upsert), 'nothing waits for a checkpoint');
});
