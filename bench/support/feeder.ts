/**
 * A thread that makes records arrive at their time, whatever the engine does: it posts the time at
 * which a record was due, so that a stall of the engine counts for every record behind it.
 */
import { parentPort, workerData } from 'node:worker_threads';

const { count, perSecond } = workerData as { count: number; perSecond: number };
const cell = new Int32Array(new SharedArrayBuffer(4));
const start = performance.now() + 500;
for (let index = 0; index < count; index++) {
  const due = start + (index * 1000) / perSecond;
  const wait = due - performance.now();
  if (wait > 0) Atomics.wait(cell, 0, 0, wait);
  parentPort?.postMessage(performance.timeOrigin + due);
}
parentPort?.postMessage(null);
