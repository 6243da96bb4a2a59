/** Spreads batches over threads, and gives each thread the next when it has done one. */
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { Batch, BatchResult } from '../../packages/simulation/src/scenarios/batch.ts';

/**
 * Every core has a thread of its own to run: helpers of the garbage collector would only take turns
 * from them, and code that runs now and then is not worth V8's slowest compiler.
 */
const V8_FLAGS = ['--single-threaded-gc', '--invocation-count-for-turbofan=30000'];
/** Schedules leave a lot of garbage and keep next to nothing. */
const YOUNG_MB = 96;

export interface BatchWatch {
  readonly done: (batch: Batch, result: BatchResult) => void;
  /** Asked before a batch is begun: one that nobody needs any more is left out. */
  readonly isOver?: (batch: Batch) => boolean;
}

export async function runBatches(
  batches: readonly Batch[],
  threads: number,
  { done, isOver = () => false }: BatchWatch,
): Promise<void> {
  for (const flag of V8_FLAGS) setFlagsFromString(flag);
  const waiting = [...batches];
  const runners = Array.from({ length: Math.min(threads, batches.length) }, async () => {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    try {
      for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift())
        if (!isOver(batch)) done(batch, await runOne(worker, batch));
    } finally {
      await worker.terminate();
    }
  });
  await Promise.all(runners);
}

function runOne(worker: Worker, batch: Batch): Promise<BatchResult> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (result: BatchResult) => {
      worker.off('error', reject);
      resolve(result);
    });
    worker.postMessage(batch);
  });
}
