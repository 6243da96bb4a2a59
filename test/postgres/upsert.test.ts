/** The upsert sink on a real server: keys, order, retries, attempts that are cut off. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { job, sequence } from '@weir/core';
import { postgresUpsertSink } from '../../packages/postgres/src/index.ts';
import type { PostgresServer } from '../../tools/postgres/server.ts';
import { run } from './support/jobs.ts';
import { fresh, ownServerTest, postgresTest, sharedProxy } from './support/shared-server.ts';
import { upsertWriters } from './support/upsert-writers.ts';

async function table(server: PostgresServer): Promise<string> {
  const name = fresh('totals');
  await server.psql(`create table ${name} (key text primary key, total bigint)`);
  return name;
}

function rowsOf(server: PostgresServer, name: string): Promise<string> {
  return server.psql(
    `select coalesce(string_agg(key || '=' || total, ' ' order by key), '') from ${name}`,
  );
}

postgresTest('the last row of a key is what the table shows', async (server) => {
  const name = await table(server);
  const writers = upsertWriters(server.url, name);
  const writer = await writers.open();
  for (const [key, total] of [
    ['b', 1],
    ['a', 1],
    ['b', 2],
  ] as const)
    writer.put(key, total);
  await writer.barrier();
  assert.equal(await rowsOf(server, name), 'a=1 b=2');
  writer.put('a', 5);
  await writer.barrier();
  assert.equal(await rowsOf(server, name), 'a=5 b=2');
  await writers.closeAll();
});

postgresTest(
  'keys that are one to the server, and two as texts: the last counts',
  async (server) => {
    const name = fresh('totals');
    await server.psql(`create table ${name} (key numeric primary key, total bigint)`);
    const writers = upsertWriters(server.url, name);
    const writer = await writers.open();
    for (const [key, total] of [
      ['1.0', 1],
      ['1', 2],
      ['2', 1],
      ['2.0', 2],
      ['3', 1],
      ['3.0', 2],
      ['3', 3],
    ] as const)
      writer.put(key, total);
    await writer.barrier();
    const totals = `select string_agg(trunc(key) || '=' || total, ' ' order by key) from ${name}`;
    assert.equal(await server.psql(totals), '1=2 2=2 3=3');
    await writers.closeAll();
  },
);

postgresTest('a job that fails and replays ends with the right rows', async (server) => {
  const name = await table(server);
  let failures = 0;
  const totals = job('totals', (env) => {
    env
      .fromSource(sequence(1, 3000), { uid: 'numbers' })
      .map((n) => {
        if (n === 2000 && failures++ < 2) throw new Error('planned');
        return { key: `k${n % 7}`, total: n };
      })
      .keyBy(({ key }) => key)
      .reduce((a, b) => ({ key: a.key, total: a.total + b.total }))
      .sinkTo(
        postgresUpsertSink<{ key: string; total: number }>({
          connection: server.url,
          table: name,
          key: ['key'],
          columns: { key: 'key', total: 'total' },
        }),
      )
      .uid('out');
  });
  const { outcome } = await run(totals);
  assert.equal(outcome.status, 'FINISHED');
  assert.equal(failures, 3);
  const expected = Array.from({ length: 7 }, (_, k) => {
    let total = 0;
    for (let n = 1; n <= 3000; n++) if (n % 7 === k) total += n;
    return `k${k}=${total}`;
  });
  assert.equal(await rowsOf(server, name), expected.join(' '));
});

postgresTest('an answer that is lost is asked for by writing again', async (server) => {
  const name = await table(server);
  const writers = upsertWriters(server.urlAt(sharedProxy().port), name);
  const writer = await writers.open();
  writer.put('a', 1);
  await writer.barrier();
  sharedProxy().cutAll();
  writer.put('a', 2);
  await writer.barrier();
  assert.equal(await rowsOf(server, name), 'a=2');
  await writers.closeAll();
});

postgresTest('a session that broke cannot write older rows later', async (server) => {
  const name = await table(server);
  await server.psql(`insert into ${name} values ('a', 0)`);
  const url = server.urlAt(sharedProxy().port);
  const writers = upsertWriters(url, name, { lockTimeoutMs: 30_000, requestTimeoutMs: 31_000 });
  const writer = await writers.open();
  // Somebody holds the row, so the first write waits in the server when its connection breaks.
  const holder = server.psql(`begin; select 1 from ${name} for update; select pg_sleep(1); commit`);
  await sleep(200);
  writer.put('a', 1);
  const first = writer.barrier();
  await sleep(200);
  sharedProxy().cutAll();
  await holder;
  await first;
  writer.put('a', 2);
  await writer.barrier();
  await sleep(200);
  assert.equal(await rowsOf(server, name), 'a=2');
  await writers.closeAll();
});

postgresTest('a newer attempt ends an older one, which cannot come back', async (server) => {
  const name = await table(server);
  const writers = upsertWriters(server.url, name, { retryForMs: 0 });
  const old = await writers.open();
  const fresher = await writers.open();
  fresher.put('a', 2);
  await fresher.barrier();
  assert.equal(await rowsOf(server, name), 'a=2');
  const sessions = await server.psql(
    "select count(*) from pg_stat_activity where application_name ~ '^weir .* 0 1[.]1$'",
  );
  assert.equal(sessions, '0');
  old.put('a', 1);
  await assert.rejects(old.barrier(), { kind: 'fenced', message: /a newer one writes to/ });
  assert.equal(await rowsOf(server, name), 'a=2');
  await writers.closeAll();
});

postgresTest('a new process ends the sessions of all subtasks there were', async (server) => {
  const name = await table(server);
  await server.psql(`insert into ${name} values ('a', 0)`);
  const writers = upsertWriters(server.url, name, {
    lockTimeoutMs: 30_000,
    requestTimeoutMs: 31_000,
  });
  const old = await writers.open({ subtask: 1 });
  // Waits for the row of one key, with an older row of another key behind it.
  const holder = server.psql(`begin; select 1 from ${name} for update; select pg_sleep(1); commit`);
  await sleep(200);
  old.put('a', 1);
  old.put('b', 1);
  const late = assert.rejects(old.barrier(), { kind: 'fenced' });
  await sleep(200);
  const successor = await writers.open({ epoch: 2 });
  successor.put('b', 2);
  await successor.barrier();
  await holder;
  await late;
  assert.equal(await rowsOf(server, name), 'a=0 b=2');
  await writers.closeAll();
});

ownServerTest('a server that crashes in mid-run is waited for', {}, async (server) => {
  const name = await table(server);
  const writers = upsertWriters(server.url, name, { retryForMs: 30_000 });
  const writer = await writers.open();
  writer.put('a', 1);
  await writer.barrier();
  await server.halt('immediate');
  writer.put('a', 2);
  const written = writer.barrier();
  await server.start();
  await written;
  assert.equal(await rowsOf(server, name), 'a=2');
  await writers.closeAll();
});

postgresTest('a key without a unique index is refused, with the statement', async (server) => {
  const name = fresh('loose');
  await server.psql(`create table ${name} (key text, total bigint)`);
  const writers = upsertWriters(server.url, name);
  await assert.rejects(writers.open(), {
    kind: 'user',
    message: /no unique index on just these columns; create one: create unique index on "loose/,
  });
  await server.psql(`create unique index on ${name} (key) where total > 0`);
  await assert.rejects(writers.open(), /no unique index/, 'a partial one');
  await writers.closeAll();
});

postgresTest(
  'bad rows are kept once, whatever is written again, and the rest too',
  async (server) => {
    const name = await table(server);
    const letters = fresh('letters');
    await server.psql(
      `alter table ${name} add check (total < 100); ` +
        `create table ${letters} (id text primary key, target text, reason text, row jsonb)`,
    );
    const writers = upsertWriters(server.url, name, { onBadRow: { deadLetterTable: letters } });
    for (const attempt of [1, 2]) {
      const writer = await writers.open();
      for (let n = 0; n < 50; n++) writer.put(`k${n}`, n === 30 ? 1000 : n);
      writer.put('text', 'no number' as unknown as number);
      await writer.barrier();
      assert.equal(writer.counts.get('badRows'), 2, `attempt ${attempt}`);
    }
    assert.equal(await server.psql(`select count(*) from ${name}`), '49');
    const kept = await server.psql(
      `select target, reason, row->>'key' from ${letters} order by row->>'key'`,
    );
    assert.match(kept, /^totals.*\|\(key\)=\(k30\): .*violates check constraint.*\|k30$/m);
    assert.match(
      kept,
      /^totals.*\|\(key\)=\(text\): column "total" \(bigint\): "no number" is not/m,
    );
    assert.equal(kept.split('\n').length, 2);
    await writers.closeAll();
  },
);
