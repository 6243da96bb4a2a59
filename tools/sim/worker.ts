/** A thread that runs batches of schedules, one after the other. */
import { parentPort } from 'node:worker_threads';
import { runBatch } from '../../packages/simulation/src/scenarios/batch.ts';
import type { Batch } from '../../packages/simulation/src/scenarios/batch.ts';

parentPort?.on('message', (batch: Batch) => {
  void runBatch(batch).then((result) => parentPort?.postMessage(result));
});
