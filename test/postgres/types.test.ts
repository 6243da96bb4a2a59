/** Values of every type arrive as they were, by COPY and by upsert. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { fromCollection, job } from '@weir/core';
import { postgresSink, postgresUpsertSink } from '../../packages/postgres/src/index.ts';
import type { Columns } from '../../packages/postgres/src/index.ts';
import { run } from './support/jobs.ts';
import { fresh, postgresTest } from './support/shared-server.ts';

interface Everything {
  readonly id: number;
  readonly text: string;
}

const COLUMNS: Columns<Everything> = {
  id: { type: 'integer', value: (it) => it.id },
  text: { type: 'text', value: (it) => it.text },
  'Odd "name"': (it) => it.text.length,
  small: { type: 'smallint', value: (it) => it.id },
  big: { type: 'bigint', value: (it) => 2n ** 62n + BigInt(it.id) },
  float: { type: 'double precision', value: (it) => it.id / 3 },
  exact: { type: 'numeric', value: () => '12.345678901234567890' },
  flag: { type: 'boolean', value: (it) => it.id % 2 === 0 },
  at: { type: 'timestamptz', value: (it) => new Date(it.id * 1000) },
  json: { type: 'jsonb', value: (it) => ({ text: it.text }) },
  bytes: { type: 'bytea', value: (it) => Buffer.from(it.text) },
  tags: (it) => [it.text, null],
  parts: (it) => [[it.id, 'a'], { id: it.id }],
  labels: (it) => [it.text],
  nothing: () => null,
  short: () => 'abc',
  fixed: () => 'ab',
};

const columnsWith = (
  labels: string,
): string => `(id int primary key, text text, "Odd ""name""" int, small smallint, big bigint,
  float float8, exact numeric(30,18), flag bool, at timestamptz, json jsonb, bytes bytea,
  tags text[], parts jsonb[], labels ${labels},
  nothing int, short varchar(3), fixed char(4), by_default int default 7)`;

postgresTest('values of every type arrive as they were, by COPY and by upsert', async (server) => {
  const [copied, upserted] = [fresh('copied'), fresh('upserted')];
  const labels = fresh('labels');
  await server.psql(`create domain ${labels} as text[] check (array_length(value, 1) = 1)`);
  for (const name of [copied, upserted])
    await server.psql(`create table ${name} ${columnsWith(labels)}`);
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.constantFrom('\\N', '\\.', '{"a"}', "'", 'NULL', '\t\r\n'),
  );
  const texts = fc.sample(
    text.map((it) => it.replaceAll('\0', '')),
    { numRuns: 200, seed: 7 },
  );
  const values = texts.map((it, id): Everything => ({ id, text: it }));
  const both = job('types', (env) => {
    const stream = env.fromSource(fromCollection(values), { uid: 'values' });
    const base = { connection: server.url, columns: COLUMNS };
    stream.sinkTo(postgresSink({ ...base, table: copied })).uid('copied');
    stream.sinkTo(postgresUpsertSink({ ...base, table: upserted, key: ['id'] })).uid('upserted');
  });
  assert.equal((await run(both)).outcome.status, 'FINISHED');
  const sql = (name: string): string =>
    `select json_agg(t order by id) from (select *, convert_from(bytes, 'utf8') as b, ` +
    `big::text as big, exact::text as exact, extract(epoch from at) as seconds from ${name}) t`;
  for (const name of [copied, upserted]) {
    const rows = JSON.parse(await server.psql(sql(name))) as Record<string, unknown>[];
    assert.equal(rows.length, values.length);
    for (const [index, row] of rows.entries()) {
      const { id, text: own } = values[index]!;
      const { at: _at, bytes: _bytes, ...seen } = row;
      assert.deepEqual(seen, {
        id,
        text: own,
        'Odd "name"': own.length,
        small: id,
        big: String(2n ** 62n + BigInt(id)),
        float: id / 3,
        exact: '12.345678901234567890',
        flag: id % 2 === 0,
        json: { text: own },
        tags: [own, null],
        parts: [[id, 'a'], { id }],
        labels: [own],
        nothing: null,
        short: 'abc',
        fixed: 'ab  ',
        by_default: 7,
        b: own,
        seconds: id,
      });
    }
  }
});

postgresTest('a text that is too long for its column is refused, never cut', async (server) => {
  const name = fresh('short');
  await server.psql(`create table ${name} (id int primary key, label varchar(3))`);
  const writing = job('short', (env) => {
    env
      .fromSource(fromCollection([1, 2, 3]), { uid: 'values' })
      .sinkTo(
        postgresUpsertSink<number>({
          connection: server.url,
          table: name,
          key: ['id'],
          columns: { id: (n) => n, label: (n) => 'x'.repeat(n * 2 - 1) },
          onBadRow: 'skip',
        }),
      )
      .uid('out');
  });
  assert.equal((await run(writing)).outcome.status, 'FINISHED');
  assert.equal(await server.psql(`select * from ${name} order by id`), '1|x\n2|xxx');
});
