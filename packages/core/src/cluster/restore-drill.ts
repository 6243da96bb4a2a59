/**
 * Proves now and then that a completed checkpoint can be restored, on a spare thread, while the job
 * goes on: `weir.checkpoint.drill`. One drill at a time; what completes meanwhile is left out. A
 * checkpoint that was subsumed and removed under the drill's hands has failed nothing.
 */
import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { toErrorInfo } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { metadataPath } from '../storage/snapshot-layout.ts';
import type { DrillOrder, DrillReport } from './drill-contract.ts';

export interface RestoreDrillOptions {
  /** Every so many completed checkpoints one is drilled. */
  readonly every: number;
  readonly logger: Logger;
  readonly proven: (checkpointId: number) => void;
}

export class RestoreDrill {
  readonly #options: RestoreDrillOptions;
  #completed = 0;
  #worker: Worker | null = null;

  constructor(options: RestoreDrillOptions) {
    this.#options = options;
  }

  /** A snapshot is complete in this directory. */
  completed(checkpointId: number, directory: string): void {
    this.#completed++;
    if (this.#completed % this.#options.every !== 0 || this.#worker !== null) return;
    const order: DrillOrder = { directory };
    const worker = new Worker(new URL('./drill-worker.ts', import.meta.url), {
      workerData: order,
      name: 'restore-drill',
    });
    this.#worker = worker;
    let report: DrillReport | null = null;
    worker.on('message', (message: DrillReport) => {
      report = message;
    });
    worker.on('error', (error) => {
      report = { type: 'failed', error: toErrorInfo(error) };
    });
    worker.on('exit', () => {
      this.#worker = null;
      if (report !== null) this.#reported(checkpointId, directory, report);
    });
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    worker?.removeAllListeners();
    await worker?.terminate();
  }

  #reported(checkpointId: number, directory: string, report: DrillReport): void {
    const { logger, proven } = this.#options;
    if (report.type === 'proven') {
      const { keys, timers, items } = report.result;
      const what = `${keys} keys, ${timers} timers, ${items} items`;
      logger.log('debug', `restore drill: checkpoint ${checkpointId} restores (${what})`);
      proven(checkpointId);
    } else if (existsSync(metadataPath(directory)))
      logger.log(
        'error',
        `restore drill: checkpoint ${checkpointId} cannot be restored: ${report.error.message}`,
      );
  }
}
