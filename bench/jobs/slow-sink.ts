/** A fast source before a slow sink, for as long as asked; each thread says what its heap holds. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';
import { datagen, job } from '@weir/core';
import type { Job, Sink } from '@weir/core';
import { pollute } from '../support/pollute.ts';
import { intOrders } from '../support/records.ts';

if (!isMainThread) await pollute();

const SAMPLE_EVERY_MS = 5000;
const SPACES = ['new_space', 'old_space', 'large_object_space', 'new_large_object_space'];

/** Objects and what hangs on them, not code, which grows whenever another function gets hot. */
function heldBytes(collectGarbage: () => void): number {
  collectGarbage();
  const spaces = getHeapSpaceStatistics().filter(({ space_name }) => SPACES.includes(space_name));
  const objects = spaces.reduce((sum, { space_used_size }) => sum + space_used_size, 0);
  return objects + getHeapStatistics().external_memory;
}

/** Node loads modules when they are first needed, on a busy thread also late: memory as code is. */
function modulesLoaded(): number {
  // @ts-expect-error -- Node has it, its types do not
  return (process.moduleLoadList as readonly string[]).length;
}

/** Takes a thousand records, then none for about a millisecond. */
function slowSink<T>(folder: string): Sink<T> {
  return {
    name: 'slow',
    write: 'plain',
    createWriter({ subtask }) {
      setFlagsFromString('--expose-gc');
      const collectGarbage = runInNewContext('gc') as () => void;
      let room = 1000;
      let sampledAt = performance.now();
      return {
        write() {
          room--;
        },
        get isWritable() {
          return room > 0;
        },
        whenWritable: () =>
          new Promise((resolve) => {
            setTimeout(() => {
              room = 1000;
              if (performance.now() - sampledAt > SAMPLE_EVERY_MS) {
                sampledAt = performance.now();
                const line = `${sampledAt} ${heldBytes(collectGarbage)} ${modulesLoaded()}\n`;
                appendFileSync(join(folder, `held-${subtask}`), line);
              }
              resolve();
            }, 1);
          }),
        prepareCommit: () => ({ committables: [], writerStates: [], durable: Promise.resolve() }),
        close: () => Promise.resolve(),
      };
    },
  };
}

const slow: Job = job('slow-sink', (env) => {
  env.enableCheckpointing('5s');
  env
    .fromSource(datagen({ generator: intOrders(1000) }), { uid: 'orders' })
    .keyBy((order) => order.key)
    .map((order) => ({ ...order, amount: order.amount * 2 }))
    .uid('doubled')
    .sinkTo(slowSink(env.args.string('probes')))
    .uid('slow');
});

export default slow;
