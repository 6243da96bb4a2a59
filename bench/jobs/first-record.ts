/** Writes down when the first record of a process was handled, and when enough of them were. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { datagen, job, valueState } from '@weir/core';
import type { Job } from '@weir/core';
import { discard } from '../support/discard.ts';

const firstRecord: Job = job('first-record', (env) => {
  const folder = env.args.string('marks');
  const keys = env.args.number('keys');
  const interval = env.args.string('checkpoints', null);
  if (interval !== null) env.enableCheckpointing(`${Number(interval)}ms`);
  let handled = 0;
  let subtask = 0;
  const mark = (name: string): void =>
    writeFileSync(join(folder, `${name}-${process.pid}-${subtask}`), String(Date.now()));
  env
    .fromSource(
      datagen({
        generator: (id) => ({ id, key: id % keys, text: `${id}`.padStart(100, 'x') }),
        count: env.args.number('records'),
      }),
      { uid: 'records' },
    )
    .keyBy((record) => record.key)
    .process({
      state: { text: valueState<string>({ default: '' }) },
      open(context) {
        subtask = context.subtask;
      },
      onElement({ text }, { state }) {
        if (handled++ === 0) mark('first');
        state.text.update(text);
        if (handled === Math.floor(keys * 0.55)) mark('filled');
      },
    })
    .uid('texts')
    .sinkTo(discard())
    .uid('nothing');
});

export default firstRecord;
