/** Sends every kind of value from thread to thread, and checks it there. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread, threadId } from 'node:worker_threads';
import { datagen, job } from '@weir/core';
import type { Job } from '@weir/core';
import { carried, checkCarried, KINDS } from './every-value.ts';
import type { Kind } from './every-value.ts';

const everyValue: Job = job('every value between threads', (env) => {
  const folder = env.args.string('folder');
  const count = env.args.number('count');
  let checked = 0;
  let crossed = 0;
  env
    .fromSource(datagen({ generator: (index) => index, count }), { uid: 'numbers' })
    .map((index) => ({
      ...carried(KINDS[index % KINDS.length] as Kind, index),
      madeBy: isMainThread ? -1 : threadId,
    }))
    .keyBy(({ index }) => index)
    .process({
      onElement({ kind, index, value, madeBy }) {
        // What stayed in its thread is still what was made, instances of classes too.
        checkCarried(madeBy === threadId ? structuredClone(value) : value, kind, index);
        checked++;
        if (madeBy !== threadId) crossed++;
      },
      close() {
        const file = join(folder, `thread-${threadId}.json`);
        writeFileSync(file, JSON.stringify({ checked, crossed }));
      },
    })
    .uid('checked')
    .forEach(() => undefined);
});

export default everyValue;
