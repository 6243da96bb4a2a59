/**
 * Running totals from files to PostgreSQL, exactly once. Reads orders `{"account": …, "amount": …}`
 * and inserts for each one a row (account, n, total): the how-manieth order of the account it was,
 * and the sum so far. Every row stands in the table once, whatever is killed in between.
 *
 *   create table totals (account text, n integer, total bigint)
 *
 *   weir run -p 2 examples/postgres-running-totals.ts --orders 'orders/*.ndjson.gz' \
 *     --database postgres://me@localhost:5432/shop --table totals
 */
import { fileSource, job, ndjson, type, valueState } from '@weir/core';
import { postgresSink } from '@weir/postgres';

interface Order {
  readonly account: string;
  readonly amount: number;
}

interface Total {
  readonly account: string;
  readonly n: number;
  readonly total: number;
}

export default job('postgres-running-totals', (env) => {
  env.enableCheckpointing('500ms').requireGuarantee('exactly-once');
  env
    .fromSource(fileSource({ path: env.args.string('orders'), format: ndjson<Order>() }), {
      uid: 'orders',
    })
    .keyBy((order) => order.account)
    .process({
      emits: type<Total>(),
      state: { n: valueState({ default: 0 }), total: valueState({ default: 0 }) },
      onElement({ account, amount }, context) {
        const { n, total } = context.state;
        n.update(n.value + 1);
        total.update(total.value + amount);
        context.emit({ account, n: n.value, total: total.value });
      },
    })
    .uid('totals')
    .sinkTo(
      postgresSink<Total>({
        connection: env.args.string('database'),
        table: env.args.string('table'),
        columns: {
          account: 'account',
          n: { type: 'integer', value: (row) => row.n },
          total: { type: 'bigint', value: (row) => row.total },
        },
      }),
    )
    .uid('totals-out');
});
