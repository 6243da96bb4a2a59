/**
 * Values that a column does not take, by both sinks: the rows around one are kept, the reason names
 * row and column, and nothing is changed in silence. What a type itself rounds or pads is the
 * table's wish.
 */
import assert from 'node:assert/strict';
import { job, sequence } from '@weir/core';
import type { Columns } from '../../packages/postgres/src/index.ts';
import { postgresSink } from '../../packages/postgres/src/index.ts';
import type { PostgresServer } from '../../tools/postgres/server.ts';
import { attemptsOn, put } from './support/drive.ts';
import { run } from './support/jobs.ts';
import { fresh, postgresTest } from './support/shared-server.ts';
import { upsertWriters } from './support/upsert-writers.ts';

type Kind = 'copy' | 'upsert';
const KINDS: readonly Kind[] = ['copy', 'upsert'];

interface Writing {
  readonly server: PostgresServer;
  readonly table: string;
  /** Of row n: `v`. */
  readonly value: (n: number) => unknown;
  readonly rows: readonly number[];
  readonly letters: string | null;
  /** What happens when the writer is open, before the first row. */
  readonly opened?: () => Promise<unknown>;
}

/** Writes rows (n, value of n) and checkpoints. */
async function write(
  kind: Kind,
  { server, table, value, rows, letters, opened = () => Promise.resolve() }: Writing,
): Promise<void> {
  const onBadRow = letters === null ? 'fail' : { deadLetterTable: letters };
  const options = { onBadRow, retryForMs: 0 } as const;
  if (kind === 'copy') {
    const columns: Columns<number> = { id: (n) => n, v: value };
    const attempts = attemptsOn(server.url, table, { ...options, columns });
    try {
      const driver = attempts.next();
      await driver.start();
      await opened();
      for (const n of rows) await put(driver, n);
      await driver.complete(await driver.checkpoint(1));
    } finally {
      await attempts.closeAll();
    }
    return;
  }
  const writers = upsertWriters(server.url, table, {
    ...options,
    key: ['id'],
    columns: { id: 'total', v: ({ total }) => value(total) },
  });
  try {
    const writer = await writers.open();
    await opened();
    for (const n of rows) writer.put('', n);
    await writer.barrier();
  } finally {
    await writers.closeAll();
  }
}

async function made(server: PostgresServer, type: string): Promise<readonly [string, string]> {
  const [table, letters] = [fresh('values'), fresh('letters')];
  await server.psql(
    `create table ${table} (id int primary key, v ${type}); ` +
      `create table ${letters} (id text primary key, target text, reason text, row jsonb)`,
  );
  return [table, letters];
}

const RING: Record<string, unknown> = {};
RING['own'] = RING;

/** A type, a value that it takes, one that it does not, and why. */
const REFUSED: readonly (readonly [string, unknown, unknown, RegExp])[] = [
  ['int', 1, 1.5, /column "v" \(integer\): 1\.5 is not a whole number from -2147483648 to/],
  ['int', 1, 2 ** 31, /column "v" \(integer\): 2147483648 is not a whole number/],
  ['bigint', 1n, 2n ** 63n, /column "v" \(bigint\): 9223372036854775808n is not a whole number/],
  ['bigint', 1, 2 ** 53, /9007199254740992 is not exact as a number; give a bigint, or a string/],
  ['int', 1, Number.NaN, /column "v" \(integer\): NaN is not a whole number/],
  ['int', 1, Infinity, /column "v" \(integer\): Infinity is not a whole number/],
  ['numeric(5,2)', 1, 1000, /numeric field overflow \(column "v"\): A field with precision 5/],
  ['real', 1, 1e300, /out of range for type real \(column "v"\)/],
  ['text', 'x', 'a\0b', /column "v" \(text\): PostgreSQL keeps no text with the character U\+0000/],
  ['text', 'x', 'a\ud800b', /column "v" \(text\): it has half a character/],
  ['varchar(3)', 'x', 'abcd', /column "v" \(character varying\(3\)\): "abcd" has 4 characters/],
  ['varchar(2)[]', ['x'], ['abc'], /\(character varying\(2\)\[\]\): "abc" has 3 characters, and 2/],
  ['timestamptz', new Date(0), new Date(Number.NaN), /column "v" .*: the date is invalid/],
  ['timestamptz', new Date(0), new Date(8.64e15), /column "v" .*: the year 275760 needs a string/],
  ['timestamptz', '2024-01-01', '2024-02-30', /field value out of range: .* \(column "v"\)/],
  ['timestamptz', '2024-01-01', '2024-01-01 1:00 Mars/X', /time zone "mars\/x" not .*"v"/],
  ['timestamp', '2024-01-01 10:00Z', '2024-01-01T10:00:00+02:00', /"v" .*: .* has a time zone/],
  ['int not null', 1, null, /column "v" \(integer\): it must have a value/],
  ['int not null', 1, undefined, /column "v" \(integer\): it must have a value/],
  ['bool', true, 'true', /column "v" \(boolean\): "true" is not true or false/],
  ['jsonb', {}, { a: '\0' }, /column "v" \(jsonb\): PostgreSQL reads no JSON with U\+0000/],
  ['json', {}, '\0', /column "v" \(json\): PostgreSQL reads no JSON with U\+0000/],
  ['jsonb', {}, '\ud800', /reads no JSON with U\+0000 or half a character/],
  ['jsonb', { a: null }, { a: [Number.NaN] }, /NaN in it is nothing that JSON knows/],
  ['jsonb', { a: {} }, new Map([[1, 2]]), /a Map in it is nothing that JSON knows/],
  ['jsonb', {}, RING, /column "v" \(jsonb\): Converting circular structure to JSON -->/],
  ['uuid', null, 'nope', /invalid input syntax for type uuid: "nope" \(column "v"\)/],
  ['int[]', [1], [1, 'x'], /column "v" \(integer\[\]\): "x" is not a whole number/],
  ['int[]', [[1], [2]], [[1], [1, 2]], /malformed array literal: .* \(column "v"\)/],
  ['mood', 'ok', 'wat', /invalid input value for enum mood_\w+: "wat" \(column "v"\)/],
  ['positive', 1, -1, /value for domain positive_\w+ violates check constraint .*"v"/],
  [
    "text check (v not like '%Mill%')",
    'x',
    'Mill, line 1, column id: 7',
    /\(2\): new row for relation "\w+" violates check constraint "\w+": Failing/,
  ],
  ['tsvector', 'a', "'", /syntax error in tsvector: "'" \(column "v"\)/],
  ['int check (v > 0)', 1, -1, /violates check constraint .*: Failing row contains \(2, -1\)/],
  ['int references parent', 1, 5, /violates foreign key constraint .*: Key \(v\)=\(5\) is not/],
  ['int unique', null, 7, /unique constraint .*: Key \(v\)=\(7\)/],
];

for (const kind of KINDS)
  postgresTest(`${kind}: a value that fits no column leaves the rows around it`, async (server) => {
    const own = fresh('');
    await server.psql(
      `create type mood${own} as enum ('ok'); ` +
        `create domain positive${own} as int check (value > 0);` +
        `create table parent${own} (id int primary key); insert into parent${own} values (1)`,
    );
    for (const [type, good, bad, reason] of REFUSED) {
      const [table, letters] = await made(server, type.replace(/mood|positive|parent/, `$&${own}`));
      if (type.startsWith('int unique')) await server.psql(`insert into ${table} values (9, 7)`);
      const value = (n: number): unknown => (n === 2 ? bad : good);
      const writing = { server, table, value, rows: [1, 2, 3] };
      const what = `${type} ${String(reason)}`;
      await write(kind, { ...writing, letters });
      const kept = `select string_agg(id::text, ' ' order by id) from ${table} where id < 9`;
      assert.equal(await server.psql(kept), '1 3', what);
      const letter = await server.psql(`select reason, row->>'id' from ${letters}`);
      assert.match(letter, reason);
      assert.match(letter, /^\(id\)=\(2\): .*\|2$/, what);
      await server.psql(`delete from ${table} where id < 9`);
      await assert.rejects(write(kind, { ...writing, letters: null }), (error: Error) => {
        assert.match(error.message, reason);
        const place = `${server.host}:${server.port}/${server.database}, table public.${table}`;
        const begin = `PostgreSQL at ${place} does not take the row (id)=(2): `;
        assert.ok(error.message.startsWith(begin), error.message);
        assert.match(error.message, /; mend the input or the table, or have such rows left out/);
        return true;
      });
    }
  });

/** What is taken, and how the table shows it. */
const TAKEN: readonly (readonly [string, unknown, string])[] = [
  ['int', -0, '0'],
  ['float8', -0, '-0'],
  ['float8', Infinity, 'Infinity'],
  ['numeric', Number.NaN, 'NaN'],
  ['numeric(5,2)', 1.239, '1.24'],
  ['varchar(2)', '😀😀', '😀😀'],
  ['varchar(3)', 'abc  ', 'abc'],
  ['text', '\\u0000 \\N', '\\u0000 \\N'],
  ['jsonb', '\\u0000', '"\\\\u0000"'],
  ['jsonb', { a: null, b: {} }, '{"a": null, "b": {}}'],
  ['timestamp', '2024-01-01T10:00:00Z', '2024-01-01 10:00:00'],
];

postgresTest('what a type takes stands in the table as it was given', async (server) => {
  for (const kind of KINDS)
    for (const [type, value, shown] of TAKEN) {
      const [table] = await made(server, type);
      await write(kind, { server, table, value: () => value, rows: [1], letters: null });
      assert.equal(await server.psql(`select v::text from ${table}`), shown, `${kind} ${type}`);
    }
});

postgresTest('keys that differ as texts alone are one: the last of them counts', async (server) => {
  for (const [type, first, last] of [
    ['numeric', '1.0', '1'],
    ['uuid', 'a0000000-0000-0000-0000-000000000000', 'A0000000-0000-0000-0000-000000000000'],
    ['char(4)', 'ab ', 'ab'],
  ] as const)
    for (const keys of [
      [first, last],
      [last, first],
    ]) {
      const table = fresh('same');
      await server.psql(`create table ${table} (key ${type} primary key, total int)`);
      const writers = upsertWriters(server.url, table);
      const writer = await writers.open();
      for (const [index, key] of keys.entries()) writer.put(key, index);
      await writer.barrier();
      assert.equal(await server.psql(`select total from ${table}`), '1', `${type} ${keys.join()}`);
      await writers.closeAll();
    }
});

postgresTest(
  'a reason and a row that hold what a table cannot are kept all the same',
  async (server) => {
    const table = fresh('keys');
    const letters = fresh('letters');
    await server.psql(
      `create table ${table} (key text primary key, total int); ` +
        `create table ${letters} (id text primary key, target text, reason text, row jsonb)`,
    );
    const writers = upsertWriters(server.url, table, { onBadRow: { deadLetterTable: letters } });
    const writer = await writers.open();
    for (const key of ['a\0b', 'a\ud800b', 'fine']) writer.put(key, 1);
    await writer.barrier();
    assert.equal(await server.psql(`select key from ${table}`), 'fine');
    assert.equal(
      await server.psql(`select row->>'key' from ${letters} order by 1`),
      ['a\\u0000b', 'a\\ud800b'].join('\n'),
    );
    await writers.closeAll();
  },
);

postgresTest(
  'a row that nobody tells ends the job at the third time, and is found',
  async (server) => {
    const [table] = await made(server, 'int');
    await server.psql(
      `create function ${table}_f() returns trigger language plpgsql as $$ begin ` +
        "if new.id = 33 then raise exception using errcode = 'UX001', " +
        "message = 'no thirty-three'; " +
        `end if; return null; end; $$; create trigger t after insert on ${table} ` +
        `for each row execute function ${table}_f()`,
    );
    let restarts = 0;
    const inserting = job('insert', (env) => {
      env
        .fromSource(sequence(1, 100), { uid: 'numbers' })
        .sinkTo(postgresSink<number>({ connection: server.url, table, columns: { id: (n) => n } }))
        .uid('out');
    });
    const error = await run(inserting, {
      onEvent: ({ type }) => void (type === 'restarting' && restarts++),
    }).then(
      () => null,
      (it: unknown) => it as Error,
    );
    assert.match(
      String(error),
      new RegExp(
        `the same record failed 3 times, at ${table} \\(id\\)=\\(33\\): .*sink "out" \\(.*\\): ` +
          `PostgreSQL at .*, table public.${table} does not take the row \\(id\\)=\\(33\\): no th`,
      ),
    );
    assert.equal(restarts, 2);
    assert.equal(await server.psql(`select count(*) from ${table}`), '0');
  },
);

for (const [what, change, message] of [
  ['dropped', 'drop table T', /the table is gone; create it again.*\(it says: relation .*T/],
  ['renamed', 'alter table T rename to T_other', /the table is gone/],
  ['without a column', 'alter table T drop column v', /the column is gone; add it again/],
  [
    'with a column more that must have a value',
    'alter table T add column more int not null',
    /a column must have a value; write it, or give it a default \(it says: null .* column "more"/,
  ],
] as const)
  postgresTest(
    `a table that is ${what} in mid-run ends the job, and passes nothing over`,
    async (server) => {
      for (const kind of KINDS) {
        const [table, letters] = await made(server, 'int');
        const opened = (): Promise<string> => server.psql(change.replaceAll('T', table));
        const writing = { server, table, value: (n: number) => n, rows: [1], letters, opened };
        await assert.rejects(write(kind, writing), (error: Error & { kind?: string }) => {
          assert.equal(error.kind, 'user', error.message);
          assert.match(error.message, new RegExp(message.source.replaceAll('.*T', `.*${table}`)));
          return true;
        });
        assert.equal(await server.psql(`select count(*) from ${letters}`), '0');
      }
    },
  );

postgresTest('limits of time that the role has are not those of the sink', async (server) => {
  if (!server.isOwn) return;
  const [table] = await made(server, 'int');
  const role = fresh('hurried');
  await server.psql(
    `create role ${role} login; grant all on ${table} to ${role}; ` +
      `alter role ${role} set idle_in_transaction_session_timeout = 50; ` +
      `alter role ${role} set statement_timeout = 100; ` +
      `create function ${table}_f() returns trigger language plpgsql as ` +
      '$$ begin perform pg_sleep(0.2); return new; end; $$; create trigger t before insert ' +
      `on ${table} for each row execute function ${table}_f()`,
  );
  const url = new URL(server.url);
  url.username = role;
  const hurried = { ...server, url: url.href, psql: (sql: string) => server.psql(sql) };
  for (const kind of KINDS) {
    const opened = (): Promise<string> => server.psql('select pg_sleep(0.2)');
    const value = (n: number): unknown => n;
    await write(kind, { server: hurried, table, value, rows: [1], letters: null, opened });
    assert.equal(await server.psql(`delete from ${table} returning id`), '1', kind);
  }
});

postgresTest('a disk that is full is waited for, and said to be', async (server) => {
  for (const kind of KINDS) {
    const [table] = await made(server, 'int');
    await server.psql(
      `create function ${table}_f() returns trigger language plpgsql as $$ begin raise exception ` +
        `using errcode = 'disk_full', message = 'could not extend file'; end; $$; ` +
        `create trigger t before insert on ${table} for each row execute function ${table}_f()`,
    );
    const writing = { server, table, value: (n: number) => n, rows: [1], letters: null };
    await assert.rejects(write(kind, writing), {
      kind: 'transient',
      message: /its disk is full; make room \(it says: could not extend file\)/,
    });
  }
});
