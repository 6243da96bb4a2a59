/** Generated orders into PostgreSQL: by transactions, or by key (bench/rows/postgres.ts). */
import { datagen, job } from '@weir/core';
import type { Job } from '@weir/core';
import { postgresSink, postgresUpsertSink } from '@weir/postgres';
import type { Columns } from '@weir/postgres';

export interface Order {
  readonly id: number;
  readonly account: string;
  readonly amount: number;
  readonly at: Date;
}

export const COLUMNS: Columns<Order> = {
  id: { type: 'bigint', value: (order) => order.id },
  account: 'account',
  amount: 'amount',
  at: 'at',
};

/** By transactions every order has an id of its own; by key, ids come again. */
export function orderOf(index: number, ids: number): Order {
  return {
    id: ids === 0 ? index : (index * 7919) % ids,
    account: `account-${index % 5000}`,
    amount: (index % 1000) / 4,
    at: new Date(1_700_000_000_000 + index),
  };
}

const write: Job = job('postgres-write', (env) => {
  env.enableCheckpointing('1s');
  const [connection, table] = [env.args.string('database'), env.args.string('table')];
  const [count, ids] = [env.args.number('count'), env.args.number('ids')];
  const sink =
    ids === 0
      ? postgresSink<Order>({ connection, table, columns: COLUMNS })
      : postgresUpsertSink<Order>({ connection, table, columns: COLUMNS, key: ['id'] });
  env
    .fromSource(datagen({ generator: (index) => orderOf(index, ids), count }), { uid: 'orders' })
    .sinkTo(sink)
    .uid('out');
});

export default write;
