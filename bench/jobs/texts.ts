/**
 * A text of 100 bytes a key, written anew by every record, until the job is stopped. Every thread
 * tells those who listen how many records it has handled.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';
import { datagen, job, valueState } from '@weir/core';
import type { Job } from '@weir/core';
import { discard } from '../support/discard.ts';
import { pollute } from '../support/pollute.ts';

/** Where counts are told, as `[subtask, records, at]`: milliseconds since the epoch. */
export const COUNTS = 'weir-bench-counts';
export type Count = readonly [subtask: number, records: number, at: number];

const STRIDE = 4096;
const TEXT_BYTES = 100;
const FOR_EVER = 1e12;

const texts: Job = job('texts', (env) => {
  const keys = env.args.number('keys');
  const marks = env.args.string('marks', null);
  let subtask = 0;
  let records = 0;
  let counts: BroadcastChannel | null = null;
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
        counts = new BroadcastChannel(COUNTS);
        if (!isMainThread) await pollute();
      },
      onElement({ text }, { state }) {
        if (records === 0 && marks !== null)
          writeFileSync(join(marks, `first-${process.pid}-${subtask}`), String(Date.now()));
        state.text.update(text);
        if (++records % STRIDE !== 0) return;
        const count: Count = [subtask, records, performance.timeOrigin + performance.now()];
        counts?.postMessage(count);
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
