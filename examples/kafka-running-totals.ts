/**
 * Running totals from Kafka to Kafka, exactly once. Reads orders `{"account": …, "amount": …}` and
 * writes for each one `{"account": …, "n": …, "total": …}`: the how-manieth order of the account it
 * was, and the sum so far. A reader with `isolation.level=read_committed` sees every result once,
 * whatever is killed in between.
 *
 *   weir run -p 2 examples/kafka-running-totals.ts \
 *     --bootstrap localhost:9092 --orders orders --totals totals [--until-end]
 */
import { job, valueState, type } from '@weir/core';
import { json, kafkaSink, kafkaSource } from '@weir/kafka';

interface Order {
  readonly account: string;
  readonly amount: number;
}

interface Total {
  readonly account: string;
  readonly n: number;
  readonly total: number;
}

export default job('kafka-running-totals', (env) => {
  env.enableCheckpointing('500ms').requireGuarantee('exactly-once');
  const bootstrap = env.args.string('bootstrap');
  env
    .fromSource(
      kafkaSource({
        bootstrap,
        topics: env.args.string('orders'),
        value: json<Order>(),
        ...(env.args.boolean('until-end', false) ? { bounded: 'latest' } : {}),
      }),
      { uid: 'orders' },
    )
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
      kafkaSink({
        bootstrap,
        topic: env.args.string('totals'),
        key: (total) => total.account,
        value: json<Total>(),
      }),
    )
    .uid('totals-out');
});
