/** Spreads batches over threads, and gives each thread the next when it has done one. */
import { Worker } from 'node:worker_threads';
import type { Batch, BatchResult } from '../../packages/simulation/src/scenarios/batch.ts';

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
  const waiting = [...batches];
  const runners = Array.from({ length: Math.min(threads, batches.length) }, async () => {
    const worker = new Worker(new URL('./worker.ts', import.meta.url));
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
