/** Running sums of paced numbers by key, upserted, for processes that are killed on the way. */
import { datagen, job } from '@weir/core';
import type { Job } from '@weir/core';
import { postgresUpsertSink } from '@weir/postgres';

interface Total {
  readonly key: string;
  readonly total: number;
}

export const KEYS = 7;

const totals: Job = job('totals', (env) => {
  env.enableCheckpointing('150ms').requireGuarantee('exactly-once');
  env
    .fromSource(
      datagen({
        generator: (n): Total => ({ key: `k${n % KEYS}`, total: n }),
        count: env.args.number('count'),
        rate: env.args.number('rate'),
      }),
      { uid: 'numbers' },
    )
    .keyBy(({ key }) => key)
    .reduce((a, b) => ({ key: a.key, total: a.total + b.total }))
    .uid('totals')
    .sinkTo(
      postgresUpsertSink<Total>({
        connection: env.args.string('database'),
        table: env.args.string('table'),
        key: ['key'],
        columns: { key: 'key', total: { type: 'bigint', value: ({ total }) => total } },
        // Sums are the same in whatever order they were made.
        converges: true,
      }),
    )
    .uid('out');
});

export default totals;
