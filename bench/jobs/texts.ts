/**
 * A text of 100 bytes a key, written anew by every record, until the job is stopped. Every thread
 * tells those who listen how many records it has handled.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { datagen, job, valueState } from '@weir/core';
import type { Job } from '@weir/core';
import { CountTeller } from '../support/counts.ts';
import { discard } from '../support/discard.ts';
import { pollute } from '../support/pollute.ts';

const TEXT_BYTES = 100;
const FOR_EVER = 1e12;

const texts: Job = job('texts', (env) => {
  const keys = env.args.number('keys');
  const marks = env.args.string('marks', null);
  let subtask = 0;
  let isFirst = true;
  let counts: CountTeller | null = null;
  env
    .fromSource(
      datagen({
        generator: (id) => ({ key: id % keys, text: `${id}`.padStart(TEXT_BYTES, 'x') }),
        count: FOR_EVER,
      }),
      { uid: 'records' },
    )
    .keyBy((record) => record.key)
    .process({
      state: { text: valueState<string>({ default: '' }) },
      async open(context) {
        subtask = context.subtask;
        if (marks !== null) return;
        counts = new CountTeller(subtask);
        if (!isMainThread) await pollute();
      },
      onElement({ text }, { state }) {
        if (isFirst && marks !== null)
          writeFileSync(join(marks, `first-${process.pid}-${subtask}`), String(Date.now()));
        isFirst = false;
        state.text.update(text);
        counts?.hit();
      },
      close() {
        counts?.close();
      },
    })
    .uid('texts')
    .sinkTo(discard())
    .uid('nothing');
});

export default texts;
