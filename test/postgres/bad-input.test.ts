/** What users get wrong, and what goes wrong around them: each has one clear end. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { datagen, job, sequence } from '@weir/core';
import type { ConfigSettings, Job } from '@weir/core';
import { postgresSink } from '../../packages/postgres/src/index.ts';
import type { PostgresSinkOptions } from '../../packages/postgres/src/index.ts';
import type { PostgresServer } from '../../tools/postgres/server.ts';
import { attemptsOn, put } from './support/drive.ts';
import { run } from './support/jobs.ts';
import { fresh, ownServerTest, postgresTest } from './support/shared-server.ts';

function insertJob(
  options: Partial<PostgresSinkOptions<number>> & Pick<PostgresSinkOptions<number>, 'connection'>,
  last = 100,
): Job {
  return job('insert', (env) => {
    env
      .fromSource(sequence(1, last), { uid: 'numbers' })
      .sinkTo(
        postgresSink<number>({
          table: 'numbers',
          columns: { id: (n) => n },
          retryForMs: 1000,
          ...options,
        }),
      )
      .uid('out');
  });
}

async function table(server: PostgresServer, columns = 'id bigint primary key'): Promise<string> {
  const name = fresh('numbers');
  await server.psql(`create table ${name} (${columns})`);
  return name;
}

/** What `weir explain` says of a job that the database refuses; it ends as the run would. */
async function refusedExplain(parallelism: string, database: string): Promise<string> {
  const file = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
  const explaining = promisify(execFile)(process.execPath, [
    file('packages/core/bin/weir.js'),
    'explain',
    '-p',
    parallelism,
    file('examples/postgres-running-totals.ts'),
    '--orders',
    'none',
    '--database',
    database,
    '--table',
    'totals',
  ]);
  const ended = await explaining.then(
    () => ({ code: 0, stdout: '', stderr: '' }),
    (error: unknown) => error as { code: number; stdout: string; stderr: string },
  );
  assert.equal(ended.code, 2);
  return ended.stdout + ended.stderr;
}

/** Runs once, without restarts, and gives the error. */
async function failureOf(inserting: Job): Promise<Error> {
  const config: ConfigSettings = { 'restart-strategy.type': 'none' };
  const outcome = await run(inserting, { config }).then(
    (ended) => ended,
    (error: unknown) => error,
  );
  assert.ok(outcome instanceof Error, 'the job should have failed');
  return outcome;
}

postgresTest('prepared transactions too few: refused with the number [R067]', async (server) => {
  if (!server.isOwn) return;
  const name = await table(server);
  const wide = attemptsOn(server.url, name).next();
  await assert.rejects(wide.start(40), {
    kind: 'user',
    message: /max_prepared_transactions = 64; this sink needs 80 \(2 for each of 40 subtasks\)/,
  });
  await wide.close();
});

ownServerTest(
  'prepared transactions switched off: refused before a record is read',
  { max_prepared_transactions: '0' },
  async (server) => {
    await server.psql(
      'create table numbers (id bigint primary key); ' +
        'create table totals (account text, n integer, total bigint)',
    );
    const error = await failureOf(insertJob({ connection: server.url }));
    assert.match(error.message, /= 0; this sink needs 2 \(2 for each of 1 subtasks\)\. Set/);
    const explained = await refusedExplain('3', server.url);
    assert.match(explained, /required: exactly-once ✗/);
    assert.match(
      explained,
      /needs 6 \(2 for each of 3 subtasks\).*to at least 6 in postgresql\.conf/,
    );
  },
);

ownServerTest(
  'prepared transactions too few for all sinks of a job: refused with the sum [R067]',
  { max_prepared_transactions: '7' },
  async (server) => {
    await server.psql('create table rows (id bigint primary key); create table more (id bigint)');
    const twoSinks = job('two', (env) => {
      const numbers = env.fromSource(sequence(1, 100), { uid: 'numbers' });
      for (const table of ['rows', 'more'])
        numbers
          .sinkTo(
            postgresSink<number>({
              connection: server.url,
              table,
              columns: { id: (n) => n },
              // Those of each other do not count as taken by others.
              transactionPrefix: table,
            }),
          )
          .setParallelism(2)
          .uid(table);
    });
    const error = await failureOf(twoSinks);
    assert.match(
      error.message,
      /= 7; the 2 sinks of this job that use it need 8 together \(rows: 2 for each of 2 subtasks/,
    );
    assert.match(error.message, /\. Set max_prepared_transactions to at least 8 in postgresql/);
    assert.equal(await server.psql('select count(*) from rows'), '0', 'nothing was written');
  },
);

ownServerTest(
  'prepared transactions exhausted by others: tried again, and nothing is lost',
  { max_prepared_transactions: '3' },
  async (server) => {
    await server.psql('create table numbers (id bigint primary key); create table other (n int)');
    const attempts = attemptsOn(server.url, 'numbers');
    const first = attempts.next();
    await first.start();
    await put(first, 1);
    for (const n of [1, 2, 3])
      await server.psql(`begin; insert into other values (${n}); prepare transaction 'o${n}'`);
    await assert.rejects(first.checkpoint(1), {
      kind: 'transient',
      message: /maximum number of prepared transactions.*needs up to 2 prepared transactions/s,
    });
    await assert.rejects(attempts.next().start(), {
      kind: 'transient',
      message: /of which others use 3; .* at least 5/,
    });
    for (const n of [1, 2, 3]) await server.psql(`rollback prepared 'o${n}'`);
    const third = attempts.next();
    await third.start();
    await put(third, 1);
    await third.complete(await third.checkpoint(1));
    assert.equal(await server.psql('select count(*) from numbers'), '1');
    await attempts.closeAll();
  },
);

postgresTest('a table, a column, a type that do not fit are named at the start', async (server) => {
  const name = await table(server, 'id bigint primary key, label text not null, at date');
  const failing = async (columns: PostgresSinkOptions<number>['columns']): Promise<string> =>
    (await failureOf(insertJob({ connection: server.url, table: name, columns }))).message;
  const id = (n: number): number => n;
  assert.match(
    await failing({ id, lable: () => 'x' }),
    /has no column "lable"; its columns are id, label, at/,
  );
  assert.match(await failing({ id }), /column "label" must have a value, has no default/);
  assert.match(
    await failing({ id, label: { type: 'bigint', value: id } }),
    /column "label" is text, and the job writes bigint/,
  );
  const missing = await failureOf(insertJob({ connection: server.url, table: 'nowhere.at_all' }));
  assert.match(missing.message, /there is no such table; create it.*\(nowhere\.at_all\)/);
});

postgresTest('a column that is dropped in mid-run ends the job by name', async (server) => {
  const name = await table(server, 'id bigint primary key, label text');
  const columns = { id: (n: number) => n, label: () => 'x' };
  const attempts = attemptsOn(server.url, name, { columns });
  const driver = attempts.next();
  await driver.start();
  await server.psql(`alter table ${name} drop column label`);
  await put(driver, 1);
  await assert.rejects(driver.checkpoint(1), { kind: 'user', message: /column "label".*does not/ });
  await attempts.closeAll();
});

postgresTest('a key that is there ends the job at the third time, naming it', async (server) => {
  const name = await table(server);
  await server.psql(`insert into ${name} values (50)`);
  // None completes before the row at fault.
  const config: ConfigSettings = { 'execution.checkpointing.interval': 60_000 };
  const inserting = insertJob({ connection: server.url, table: name });
  const error: unknown = await run(inserting, { config }).then(
    () => null,
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof Error);
  const texts = [error.message, (error.cause as Error | undefined)?.message ?? ''].join('\n');
  assert.match(texts, /does not take the row \(id\)=\(50\): duplicate key value violates unique/);
  assert.match(texts, /failed 3 times/);
  assert.equal(await server.psql(`select count(*) from ${name}`), '1', 'nothing by halves');
});

for (const [policy, what] of [
  ['skip', 'counted'],
  ['dead letter', 'counted and kept once'],
] as const)
  postgresTest(
    `a key that is there, in the middle of a batch, ${policy}: ${what}, the rest kept [R107]`,
    async (server) => {
      const name = await table(server);
      const letters = fresh('letters');
      await server.psql(
        `insert into ${name} values (50), (77); ` +
          `create table ${letters} (id text primary key, target text, reason text, row jsonb)`,
      );
      let failures = 0;
      const inserting = job('insert', (env) => {
        env
          .fromSource(sequence(1, 100), { uid: 'numbers' })
          .map((n) => {
            if (n === 90 && failures++ === 0) throw new Error('planned');
            return n;
          })
          .sinkTo(
            postgresSink<number>({
              connection: server.url,
              table: name,
              columns: { id: (n) => (n === 60 ? 'sixty' : n) },
              onBadRow: policy === 'skip' ? 'skip' : { deadLetterTable: letters },
            }),
          )
          .uid('out');
      });
      const { outcome } = await run(inserting);
      assert.equal(outcome.status, 'FINISHED');
      assert.equal(await server.psql(`select count(*) from ${name}`), '99');
      const kept = await server.psql(`select row->>'id', reason from ${letters} order by 1`);
      if (policy === 'skip') return assert.equal(kept, '');
      assert.deepEqual(
        kept.split('\n').map((line) => line.slice(0, line.indexOf('|'))),
        ['50', '77', 'sixty'],
      );
      assert.match(kept, /sixty\|\(id\)=\(sixty\): column "id" \(bigint\): "sixty" is not a whole/);
    },
  );

ownServerTest(
  'a table or a server that a crash empties is warned of',
  { fsync: 'off' },
  async (server) => {
    await server.psql('create unlogged table numbers (id bigint)');
    const { outcome, events } = await run(insertJob({ connection: server.url }));
    assert.equal(outcome.status, 'FINISHED');
    const warned = events.flatMap((event) =>
      event.type === 'log' && event.level === 'warn' ? [event.message] : [],
    );
    assert.match(
      warned.join('\n'),
      /out: .*numbers is unlogged: the server empties it when it crashes/,
    );
    assert.match(warned.join('\n'), /out: PostgreSQL at \S+ has fsync = off/);
  },
);

postgresTest('what PostgreSQL keeps in no column is kept as a dead letter', async (server) => {
  const name = await table(server, 'name text primary key, doc jsonb');
  const letters = fresh('letters');
  await server.psql(
    `create table ${letters} (id text primary key, target text, reason text, row jsonb)`,
  );
  const circle: { self?: unknown } = {};
  circle.self = circle;
  const docs: readonly unknown[] = [{ '\0': 1 }, ['\ud83d'], circle, '\\u0000'];
  const { outcome } = await run(
    insertJob(
      {
        connection: server.url,
        table: name,
        columns: {
          name: (n) => ['a\0', 'b\ud83d'][n - 1] ?? `row ${n}`,
          doc: (n) => docs[n - 3] ?? n,
        },
        onBadRow: { deadLetterTable: letters },
      },
      9,
    ),
  );
  assert.equal(outcome.status, 'FINISHED');
  assert.equal(await server.psql(`select count(*) from ${name}`), '4');
  const kept = await server.psql(
    `select row->>'name', row->>'doc' from ${letters} order by reason`,
  );
  assert.deepEqual(kept.split('\n'), [
    String.raw`a\u0000|1`,
    String.raw`b\ud83d|2`,
    String.raw`row 3|{"\\u0000": 1}`,
    String.raw`row 4|["\\ud83d"]`,
    'row 5|<ref *1> { self: [Circular *1] }',
  ]);
});

postgresTest('a text that looks like the place of a fault is not taken for it', async (server) => {
  const name = await table(server, "id bigint, note text check (note not like 'Mill%')");
  const columns = {
    id: (n: number): number => n,
    note: (n: number): string => (n === 60 ? 'Mill Lane 3, line 1' : `row ${n}`),
  };
  const { outcome } = await run(
    insertJob({ connection: server.url, table: name, columns, onBadRow: 'skip' }),
  );
  assert.equal(outcome.status, 'FINISHED');
  assert.equal(await server.psql(`select count(*), sum(id) from ${name}`), '99|4990');
});

postgresTest('a row that a trigger refuses is found, and the rest kept', async (server) => {
  const name = await table(server);
  await server.psql(
    `create function ${name}_f() returns trigger language plpgsql as ` +
      "$$ begin if new.id = 33 then raise exception 'no thirty-three'; end if; return null; end; " +
      '$$;' +
      `create trigger t after insert on ${name} for each row execute function ${name}_f()`,
  );
  const { outcome } = await run(
    insertJob({ connection: server.url, table: name, onBadRow: 'skip' }),
  );
  assert.equal(outcome.status, 'FINISHED');
  assert.equal(await server.psql(`select count(*) from ${name}`), '99');
  const error = await failureOf(insertJob({ connection: server.url, table: name }));
  assert.match(`${error.message} ${String(error.cause)}`, /duplicate key|no thirty-three/);
});

postgresTest('a constraint that is looked at last says that nobody can tell', async (server) => {
  const name = await table(server, 'id bigint, unique (id) deferrable initially deferred');
  await server.psql(`insert into ${name} values (1)`);
  const attempts = attemptsOn(server.url, name);
  const driver = attempts.next();
  await driver.start();
  await put(driver, 1);
  await assert.rejects(driver.checkpoint(1), /make the constraint immediate/);
  await attempts.closeAll();
});

postgresTest(
  'a missing dead-letter table is refused with the statement to make it',
  async (server) => {
    const name = await table(server);
    const onBadRow = { deadLetterTable: 'no_such_letters' };
    const error = await failureOf(insertJob({ connection: server.url, table: name, onBadRow }));
    assert.match(
      error.message,
      /create table "no_such_letters" \(id text primary key, target text/,
    );
  },
);

postgresTest('a lock of somebody else ends in a time-out that names him', async (server) => {
  const name = await table(server);
  const holder = server.psql(
    `set application_name = 'the other one'; begin; lock table ${name}; select pg_sleep(2); commit`,
  );
  await sleep(300);
  const attempts = attemptsOn(server.url, name, { lockTimeoutMs: 600 });
  const driver = attempts.next();
  await driver.start();
  await put(driver, 1);
  await assert.rejects(driver.checkpoint(1), {
    kind: 'transient',
    message:
      /lock timeout.*: it is held by process \d+ of \S+ \(the other one\): set application_name/s,
  });
  await attempts.closeAll();
  await holder;
});

postgresTest('a lock of a prepared transaction is named by its name', async (server) => {
  const name = await table(server);
  const gid = fresh('theirs');
  await server.psql(`begin; insert into ${name} values (1); prepare transaction '${gid}'`);
  const attempts = attemptsOn(server.url, name, { lockTimeoutMs: 400 });
  const driver = attempts.next();
  await driver.start();
  await put(driver, 1);
  await assert.rejects(driver.checkpoint(1), (error: Error) => {
    assert.match(error.message, new RegExp(`held by prepared transaction ${gid} of`));
    return true;
  });
  await server.psql(`rollback prepared '${gid}'`);
  await attempts.closeAll();
});

ownServerTest(
  'no connection left: says how many a sink needs',
  { max_connections: '8', superuser_reserved_connections: '3' },
  async (server) => {
    await server.psql('create table numbers (id bigint primary key)');
    await server.psql('create role modest login; grant all on numbers to modest');
    const url = new URL(server.url);
    url.username = 'modest';
    const attempts = attemptsOn(url.href, 'numbers', { retryForMs: 100 });
    const driver = attempts.next();
    await assert.rejects(driver.start(6), {
      kind: 'transient',
      message: /needs two connections for each subtask and one more: raise max_connections/,
    });
    await attempts.closeAll();
  },
);

postgresTest(
  'rights, passwords and databases that are missing end the job at once',
  async (server) => {
    if (!server.isOwn) return;
    const name = await table(server);
    const role = fresh('poor');
    await server.psql(`create role ${role} login`);
    const poor = new URL(server.url);
    poor.username = role;
    const error = await failureOf(insertJob({ connection: poor.href, table: name }));
    const start =
      /table public\.numbers_\w+: the role poor_\w+ lacks the right to insert "id"; grant/;
    assert.match(error.message, start);
    const id = `grant insert on "${name}" to "${role}"`;
    assert.ok(error.message.includes(id), error.message);
    // Taken away while the job runs.
    await server.psql(`grant insert on ${name} to ${role}`);
    const attempts = attemptsOn(poor.href, name);
    const driver = attempts.next();
    await driver.start();
    await server.psql(`revoke insert on ${name} from ${role}`);
    await put(driver, 1);
    await assert.rejects(driver.checkpoint(1), {
      kind: 'user',
      message:
        /a right is missing; grant the role this right \(it says: permission denied for table/,
    });
    await attempts.closeAll();
    const elsewhere = new URL(server.url);
    elsewhere.pathname = '/nowhere';
    const lost = await failureOf(insertJob({ connection: elsewhere.href, table: name }));
    assert.match(
      lost.message,
      /127\.0\.0\.1:\d+\/nowhere refuses connecting: there is no such database; .*"nowhere"/,
    );
  },
);

postgresTest('the rights that the guide names are enough', async (server) => {
  if (!server.isOwn) return;
  const name = await table(server);
  const [letters, role] = [fresh('letters'), fresh('modest')];
  await server.psql(
    `create table ${letters} (id text primary key, target text, reason text, row jsonb); ` +
      `create role ${role} login; grant insert on ${name} to ${role}; ` +
      `grant insert, select on ${letters} to ${role}`,
  );
  const url = new URL(server.url);
  url.username = role;
  const columns = { id: (n: number) => (n === 5 ? 'five' : n) };
  const onBadRow = { deadLetterTable: letters };
  const inserting = insertJob({ connection: url.href, table: name, columns, onBadRow });
  assert.equal((await run(inserting)).outcome.status, 'FINISHED');
  assert.equal(await server.psql(`select count(*) from ${name}`), '99');
  assert.equal(await server.psql(`select count(*) from ${letters}`), '1');
});

ownServerTest('a server that is down at the start is waited for', {}, async (server) => {
  await server.psql('create table numbers (id bigint primary key)');
  await server.halt('fast');
  const running = run(insertJob({ connection: server.url, retryForMs: 20_000 }));
  await sleep(300);
  await server.start();
  assert.equal((await running).outcome.status, 'FINISHED');
  assert.equal(await server.psql('select count(*) from numbers'), '100');
});

ownServerTest('a server that stays down fails the job with its address', {}, async (server) => {
  await server.halt('fast');
  const error = await failureOf(insertJob({ connection: server.url, retryForMs: 200 }));
  assert.match(
    error.message,
    /127\.0\.0\.1:\d+\/postgres does not answer connecting: nothing listens there.*ECONNREFUSED/,
  );
});

ownServerTest('a server that crashes in mid-run: every row once', {}, async (server) => {
  await server.psql('create table numbers (id bigint primary key)');
  const inserting = job('insert', (env) => {
    env
      .fromSource(datagen({ generator: (i) => i + 1, count: 4000, rate: 2000 }), { uid: 'numbers' })
      .sinkTo(
        postgresSink<number>({
          connection: server.url,
          table: 'numbers',
          columns: { id: (n) => n },
          retryForMs: 30_000,
        }),
      )
      .uid('out');
  });
  const running = run(inserting);
  while ((await server.psql('select count(*) from numbers')) === '0') await sleep(20);
  await server.restart('immediate');
  assert.equal((await running).outcome.status, 'FINISHED');
  assert.equal(await server.psql('select count(*), sum(id) from numbers'), '4000|8002000');
  assert.equal(await server.psql('select count(*) from pg_prepared_xacts'), '0');
});
