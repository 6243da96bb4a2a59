/** Counts records by key; the checksum sums every running count, whatever the order of records. */
import { isMainThread } from 'node:worker_threads';
import { datagen, job, valueState } from '@weir/core';
import type { Job } from '@weir/core';
import { CountTeller } from '../support/counts.ts';
import { discard } from '../support/discard.ts';
import { pollute } from '../support/pollute.ts';
import { Probe } from '../support/probe.ts';
import { ordersOf } from '../support/records.ts';

if (!isMainThread) await pollute();

const keyedCount: Job = job('keyed-count', (env) => {
  const folder = env.args.string('probes');
  const records = env.args.number('records');
  const generator = ordersOf(env.args.string('kind'), env.args.number('keys'));
  const interval = env.args.string('checkpoints', null);
  if (interval !== null) env.enableCheckpointing(`${Number(interval)}ms`);
  const isTold = env.args.string('told', null) !== null;
  const probe = new Probe();
  let counts: CountTeller | null = null;
  let subtask = 0;
  env
    .fromSource(datagen({ generator, count: records }), { uid: 'orders' })
    .keyBy((order) => order.key)
    .process({
      state: { count: valueState({ default: 0 }) },
      open(context) {
        subtask = context.subtask;
        if (isTold) counts = new CountTeller(subtask);
      },
      onElement(_order, { state }) {
        const count = state.count.value + 1;
        state.count.update(count);
        probe.checksum += count;
        probe.hit();
        counts?.hit();
      },
      close() {
        probe.save(folder, subtask);
        counts?.close();
      },
    })
    .uid('counts')
    .sinkTo(discard())
    .uid('nothing');
});

export default keyedCount;
