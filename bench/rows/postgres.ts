/**
 * PostgreSQL on loopback: the transactional sink beside plain batched inserts with `pg`, and the
 * upsert sink beside batched upserts as one writes them by hand. They start a server and run only
 * with `--long`.
 */
import { runJob } from '@weir/core';
import pg from 'pg';
import { startPostgres } from '../../tools/postgres/server.ts';
import type { PostgresServer } from '../../tools/postgres/server.ts';
import { orderOf } from '../jobs/postgres-write.ts';
import { withFolder } from '../support/compare.ts';
import type { Measured, Row } from '../support/row.ts';
import { median } from '../support/row.ts';

/** Much, since what `weir run` needs to start is part of the time. */
const ROWS = 1_000_000;
const KEYS = 20_000;
const ROUNDS = 3;
const BATCH = 1000;
const SECOND = 1000;
const JOB = new URL('../jobs/postgres-write.ts', import.meta.url);
const COLUMNS = '(id bigint primary key, account text, amount float8, at timestamptz)';

async function byWeir(server: PostgresServer, table: string, ids: number): Promise<number> {
  return withFolder('weir-bench-', async (dataDirectory) => {
    const args = { database: server.url, table, count: ROWS, ids };
    const began = performance.now();
    await runJob(JOB, { args, dataDirectory });
    return (ROWS / (performance.now() - began)) * SECOND;
  });
}

/** One statement for a thousand rows; with `ids` 0 in transactions of a hundred statements. */
async function byHand(server: PostgresServer, table: string, ids: number): Promise<number> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const places = Array.from({ length: BATCH }, (_, row) => {
    const [a, b, c, d] = [1, 2, 3, 4].map((column) => `$${row * 4 + column}`);
    return `(${a},${b},${c},${d})`;
  });
  const insert = `insert into ${table} (id, account, amount, at) values ${places.join(',')}`;
  const conflict =
    ' on conflict (id) do update set ' +
    'account = excluded.account, amount = excluded.amount, at = excluded.at';
  const text = ids === 0 ? insert : insert + conflict;
  const began = performance.now();
  if (ids === 0) await client.query('begin');
  for (let from = 0; from < ROWS; from += BATCH) {
    const values: unknown[] = [];
    for (let index = from; index < from + BATCH; index++) {
      const { id, account, amount, at } = orderOf(index, ids);
      values.push(id, account, amount, at);
    }
    await client.query({ name: 'write', text, values });
    if (ids === 0 && from % (100 * BATCH) === 0) await client.query('commit; begin');
  }
  if (ids === 0) await client.query('commit');
  const perSecond = (ROWS / (performance.now() - began)) * SECOND;
  await client.end();
  return perSecond;
}

async function measure(ids: number): Promise<Measured> {
  const server = await startPostgres();
  if (typeof server === 'string') throw new Error(`no PostgreSQL: ${server}`);
  const wanted = ids === 0 ? ROWS : ids;
  const check = async (table: string): Promise<void> => {
    const sums = `select count(*), count(distinct account) from ${table}`;
    const found = await server.psql(sums);
    if (found !== `${wanted}|5000`) throw new Error(`wrong answer: ${found} in ${table}`);
  };
  try {
    const [weir, hand]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of ['weir', 'hand'])
        await server.psql(`create table ${name}_${round} ${COLUMNS}`);
      hand.push(await byHand(server, `hand_${round}`, ids));
      weir.push(await byWeir(server, `weir_${round}`, ids));
      for (const name of ['weir', 'hand']) await check(`${name}_${round}`);
      await server.psql(`drop table weir_${round}, hand_${round}`);
    }
    return {
      value: Math.round(median(weir)),
      baseline: Math.round(median(hand)),
      notes: { rows: ROWS, rounds: ROUNDS, interval: '1 s', ...(ids === 0 ? {} : { keys: ids }) },
    };
  } finally {
    await server.stop();
  }
}

const COMMON = {
  unit: 'rows/s',
  compares: 'ratio',
  direction: 'atLeast',
  mustReach: 0.6,
  long: true,
} as const;

export const POSTGRES_ROWS: readonly Row[] = [
  {
    ...COMMON,
    name: 'postgres-two-phase',
    title: 'PostgreSQL two-phase sink, 1 s, beside plain batched inserts with pg',
    reachFor: 1,
    measure: () => measure(0),
  },
  {
    ...COMMON,
    name: 'postgres-upsert',
    title: 'PostgreSQL upsert sink, 1 s, beside batched upserts written by hand',
    reachFor: 0.9,
    measure: () => measure(KEYS),
  },
];
