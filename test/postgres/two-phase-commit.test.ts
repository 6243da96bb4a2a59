/** The transactional sink at the moments where a crash hurts, on a real server. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PostgresServer } from '../../tools/postgres/server.ts';
import { attemptsOn, put } from './support/drive.ts';
import type { Driver } from './support/drive.ts';
import { fresh, ownServerTest, postgresTest, sharedProxy } from './support/shared-server.ts';

async function table(server: PostgresServer): Promise<string> {
  const name = fresh('numbers');
  await server.psql(`create table ${name} (id bigint primary key)`);
  return name;
}

async function ids(server: PostgresServer, name: string): Promise<string> {
  return server.psql(`select coalesce(string_agg(id::text, ' ' order by id), '') from ${name}`);
}

async function preparedCount(server: PostgresServer, name: string): Promise<number> {
  const sql =
    'select count(distinct p.gid) from pg_prepared_xacts p ' +
    'join pg_locks own on own.transactionid = p.transaction and own.pid is null ' +
    'join pg_locks l on l.virtualtransaction = own.virtualtransaction and l.pid is null ' +
    `where l.relation = '${name}'::regclass`;
  return Number(await server.psql(sql));
}

/** Starts, and prepares a row in a checkpoint that is complete: whatever happens, it is due. */
async function promised(driver: Driver): ReturnType<Driver['checkpoint']> {
  await driver.start();
  await put(driver, 1);
  return driver.checkpoint(1);
}

postgresTest('rows appear with their checkpoint, not before, and once', async (server) => {
  const name = await table(server);
  const attempts = attemptsOn(server.url, name);
  const driver = attempts.next();
  await driver.start(2);
  await put(driver, 1, 0);
  await put(driver, 2, 1);
  const first = await driver.checkpoint(1);
  await put(driver, 3, 0);
  assert.equal(await ids(server, name), '');
  assert.equal(await preparedCount(server, name), 2);
  await driver.complete(first);
  assert.equal(await ids(server, name), '1 2');
  await driver.committer.commit(first.committables);
  assert.equal(await driver.committer.probe(first.committables[0]!), 'committed');
  await attempts.closeAll();
  assert.equal(await ids(server, name), '1 2', 'what was not prepared is gone');
});

postgresTest(
  'prepared and not told: committed once by the next start, the unprepared rolled back [I-99]',
  async (server) => {
    const name = await table(server);
    const attempts = attemptsOn(server.url, name);
    const first = attempts.next();
    await first.start(2);
    await put(first, 1, 0);
    await put(first, 2, 1);
    const checkpoint = await first.checkpoint(1);
    await put(first, 3, 0);
    await sleep(50);
    // Not closed: a process that is cut off and does not know it.
    const second = attempts.next();
    await second.start(1, checkpoint);
    assert.equal(await ids(server, name), '1 2');
    await put(second, 3);
    await second.complete(await second.checkpoint(2));
    await attempts.next().start(3, checkpoint);
    assert.equal(await ids(server, name), '1 2 3', 'recovered twice, committed once');
    await attempts.closeAll();
  },
);

postgresTest(
  'what the snapshot lists is committed, other prepared ones rolled back [R073]',
  async (server) => {
    const name = await table(server);
    const attempts = attemptsOn(server.url, name);
    const first = attempts.next();
    await first.start(2);
    await put(first, 2);
    await first.complete(await first.checkpoint(2));
    await put(first, 3);
    const third = await first.checkpoint(3);
    await put(first, 4);
    await first.checkpoint(4);
    assert.equal(await preparedCount(server, name), 2);
    const second = attempts.next();
    await second.start(5, third);
    assert.equal(await ids(server, name), '2 3');
    assert.equal(await preparedCount(server, name), 0);
    assert.ok(attempts.logged.some((line) => line.includes('rolled back 1 transaction')));
    await attempts.closeAll();
  },
);

postgresTest('an old attempt can neither write nor prepare any more', async (server) => {
  const name = await table(server);
  const attempts = attemptsOn(server.url, name);
  const old = attempts.next();
  await old.start();
  await put(old, 1);
  const fresher = attempts.next();
  await fresher.start();
  await assert.rejects(old.checkpoint(1), /does not answer|terminating connection/);
  assert.equal(await preparedCount(server, name), 0);
  await put(fresher, 2);
  await fresher.complete(await fresher.checkpoint(1));
  assert.equal(await ids(server, name), '2');
  await attempts.closeAll();
});

postgresTest('the answer to COMMIT PREPARED is lost: asked, not guessed [R022]', async (server) => {
  const name = await table(server);
  const attempts = attemptsOn(server.urlAt(sharedProxy().port), name);
  const driver = attempts.next();
  const checkpoint = await promised(driver);
  let commits = 0;
  sharedProxy().verdict = (sql) => {
    if (!sql.startsWith('commit prepared')) return 'forward';
    return commits++ === 0 ? 'lose-answer' : 'forward';
  };
  await driver.complete(checkpoint);
  assert.equal(commits, 2, 'tried again after the answer was lost');
  assert.equal(await ids(server, name), '1');
  await attempts.closeAll();
});

ownServerTest(
  'a transaction that another session is still ending is waited for',
  {},
  async (server) => {
    const name = await table(server);
    const attempts = attemptsOn(server.url, name);
    const driver = attempts.next();
    const checkpoint = await promised(driver);
    const standby = (text: string): Promise<string> =>
      server.psql(`alter system set synchronous_standby_names = '${text}'`);
    const reload = (): Promise<string> => server.psql('select pg_reload_conf()');
    await standby('away');
    await reload();
    // As of a process that was killed: it waits for the standby, and nobody for it.
    const gid = checkpoint.committables[0]?.gid ?? '';
    const other = server.psql(`commit prepared '${gid}'`);
    const busy = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'";
    while ((await server.psql(busy)) === '0') await sleep(20);
    const committed = driver.complete(checkpoint);
    await sleep(300);
    await standby('');
    await reload();
    await other;
    await committed;
    assert.equal(await ids(server, name), '1');
    await attempts.closeAll();
  },
);

postgresTest('the answer to PREPARE is lost: the next start resolves it [R118]', async (server) => {
  const name = await table(server);
  const attempts = attemptsOn(server.urlAt(sharedProxy().port), name);
  const first = attempts.next();
  await first.start();
  await put(first, 1);
  const before = await first.checkpoint(1);
  await put(first, 2);
  sharedProxy().verdict = (sql) =>
    sql.startsWith('prepare transaction') ? 'lose-answer' : 'forward';
  await assert.rejects(first.checkpoint(2), /does not answer/);
  sharedProxy().verdict = () => 'forward';
  while ((await preparedCount(server, name)) < 2) await sleep(10);
  const second = attempts.next();
  await second.start(1, before);
  assert.equal(await ids(server, name), '1');
  assert.equal(await preparedCount(server, name), 0, 'no locks of it stay');
  await attempts.closeAll();
});

postgresTest(
  'what is prepared stays behind a failed roll back, and the next start resolves it [R118]',
  async (server) => {
    const name = await table(server);
    const options = { retryForMs: 200 };
    const attempts = attemptsOn(server.urlAt(sharedProxy().port), name, options);
    const first = attempts.next();
    await first.start();
    await put(first, 1);
    await first.checkpoint(1);
    // Neither the next transaction can be begun nor the prepared one be ended.
    sharedProxy().verdict = (sql) => (/^(begin|rollback prepared)/.test(sql) ? 'cut' : 'forward');
    await assert.rejects(
      put(first, 2).then(() => first.checkpoint(2)),
      { kind: 'transient' },
    );
    await assert.rejects(attempts.next().start(), { kind: 'transient' });
    assert.equal(await preparedCount(server, name), 1, 'it is still there, and nobody hides it');
    sharedProxy().verdict = () => 'forward';
    const third = attempts.next();
    await third.start();
    assert.equal(await preparedCount(server, name), 0, 'resolved before anything is written');
    assert.equal(await ids(server, name), '');
    await attempts.closeAll();
  },
);

postgresTest(
  'a commit that is refused leaves it prepared, and the next start commits it [R029]',
  async (server) => {
    const name = await table(server);
    const attempts = attemptsOn(server.urlAt(sharedProxy().port), name, { retryForMs: 200 });
    const driver = attempts.next();
    const checkpoint = await promised(driver);
    sharedProxy().verdict = (sql) => (sql.startsWith('commit prepared') ? 'cut' : 'forward');
    await assert.rejects(driver.complete(checkpoint), { kind: 'transient' });
    assert.equal(await driver.committer.probe(checkpoint.committables[0]!), 'pending');
    sharedProxy().verdict = () => 'forward';
    await attempts.next().start(1, checkpoint);
    assert.equal(await ids(server, name), '1');
    await attempts.closeAll();
  },
);

postgresTest(
  'a transaction that somebody rolled back ends the job, naming what is lost [R065]',
  async (server) => {
    const name = await table(server);
    const attempts = attemptsOn(server.url, name);
    const driver = attempts.next();
    await driver.start();
    await put(driver, 1);
    await put(driver, 2);
    const checkpoint = await driver.checkpoint(7);
    const [committable] = checkpoint.committables;
    await server.psql(`rollback prepared '${committable?.gid}'`);
    await assert.rejects(driver.complete(checkpoint), {
      kind: 'user',
      code: 'SINK_REFUSED',
      message: /of checkpoint 7 with 2 row\(s\) of numbers.*rolled it back.*are lost.*allow-older/s,
    });
    assert.equal(await driver.committer.probe(committable!), 'gone');
    const lax = attemptsOn(server.url, name, { onUnresolvedCommit: 'warn' });
    await lax.next().start(1, checkpoint);
    assert.match(lax.logged.join('\n'), /error PostgreSQL at \S+ cannot commit/);
    await lax.closeAll();
    await attempts.closeAll();
  },
);

postgresTest('a transaction of another server is never taken for committed', async (server) => {
  const name = await table(server);
  const attempts = attemptsOn(server.url, name);
  const driver = attempts.next();
  const checkpoint = await promised(driver);
  await driver.complete(checkpoint);
  const [committed] = checkpoint.committables;
  const elsewhere = { ...committed!, systemId: '42' };
  await assert.rejects(driver.committer.commit([elsewhere]), /another server/);
  const future = { ...committed!, xid: '9000000000000000' };
  await assert.rejects(driver.committer.commit([future]), /set back to a time before it/);
  await attempts.closeAll();
});

postgresTest('intervals without records begin nothing that is prepared [R071]', async (server) => {
  const name = await table(server);
  const attempts = attemptsOn(server.url, name);
  const driver = attempts.next();
  await driver.start();
  for (let id = 1; id <= 5; id++) {
    const checkpoint = await driver.checkpoint(id);
    assert.deepEqual(checkpoint.committables, []);
    await driver.complete(checkpoint);
  }
  assert.equal(await preparedCount(server, name), 0);
  await attempts.closeAll();
});

postgresTest(
  'transactions of aborted checkpoints are committed with a later one',
  async (server) => {
    const name = await table(server);
    const attempts = attemptsOn(server.url, name);
    const driver = attempts.next();
    await driver.start();
    await put(driver, 1);
    await driver.checkpoint(1);
    await put(driver, 2);
    await driver.complete(await driver.checkpoint(2));
    assert.equal(await ids(server, name), '1 2');
    await attempts.closeAll();
  },
);

ownServerTest(
  'a server that crashes between prepare and commit loses nothing',
  {},
  async (server) => {
    const name = await table(server);
    const attempts = attemptsOn(server.url, name, { retryForMs: 30_000 });
    const driver = attempts.next();
    const checkpoint = await promised(driver);
    await server.halt('immediate');
    const completed = driver.complete(checkpoint);
    await server.start();
    await completed;
    assert.equal(await ids(server, name), '1');
    await attempts.closeAll();
  },
);

ownServerTest('a task that ends does not wait for a server that is away', {}, async (server) => {
  const name = await table(server);
  const attempts = attemptsOn(server.url, name, { retryForMs: 3_600_000 });
  const ending = new AbortController();
  const first = attempts.next(ending.signal);
  const checkpoint = await promised(first);
  await server.halt('immediate');
  const completed = assert.rejects(first.complete(checkpoint), { kind: 'transient' });
  const opened = assert.rejects(attempts.next(ending.signal).start(), { kind: 'transient' });
  ending.abort();
  await Promise.all([completed, opened]);
  await first.close();
  await server.start();
  await attempts.next().start(1, checkpoint);
  assert.equal(await ids(server, name), '1', 'the next start commits it');
  await attempts.closeAll();
});

ownServerTest(
  'a commit that another session is at is waited for, not taken for refused',
  {},
  async (server) => {
    const name = await table(server);
    const attempts = attemptsOn(server.url, name, { retryForMs: 0 });
    const driver = attempts.next();
    const checkpoint = await promised(driver);
    const [committable] = checkpoint.committables;
    // As one that was cut off in the middle of it: it waits for a standby that is not there.
    await server.psql("alter system set synchronous_standby_names = 'nobody'");
    await server.psql('select pg_reload_conf()');
    const other = server.psql(`commit prepared '${committable?.gid}'`);
    const waiting = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'";
    while ((await server.psql(waiting)) === '0') await sleep(10);
    await assert.rejects(driver.committer.commit([committable!]), {
      kind: 'transient',
      message: /is being ended by another session/,
    });
    await server.psql('alter system reset synchronous_standby_names');
    await server.psql('select pg_reload_conf()');
    await other;
    await driver.complete(checkpoint);
    assert.equal(await ids(server, name), '1');
    await attempts.closeAll();
  },
);

postgresTest('many rows, and one that is larger than a batch, arrive whole', async (server) => {
  const name = fresh('texts');
  await server.psql(`create table ${name} (id bigint primary key, text text)`);
  const large = 'x\\\t\n'.repeat(300_000);
  const columns = { id: (id: number) => id, text: (id: number) => (id === 500 ? large : `${id}`) };
  const attempts = attemptsOn(server.url, name, { columns, batchSize: 100, bufferLength: 1000 });
  const driver = attempts.next();
  await driver.start();
  for (let id = 0; id < 1000; id++) await put(driver, id);
  await driver.complete(await driver.checkpoint(1));
  assert.equal(
    await server.psql(`select count(*), max(length(text)) from ${name}`),
    `1000|${large.length}`,
  );
  await attempts.closeAll();
});
