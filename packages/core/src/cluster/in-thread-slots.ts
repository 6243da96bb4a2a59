/**
 * All slots in the present thread: for jobs that are given as an object and so cannot be loaded by
 * another thread. Messages are copied and delivered later, as between threads, so that nothing can
 * come to depend on shared objects or on answers within a call.
 */
import type { Clock } from '../base/clock.ts';
import type { JobId } from '../base/ids.ts';
import type { Random } from '../base/random.ts';
import { createExchange } from '../network/data-exchange.ts';
import type { TaskManagerMessage } from '../protocol/messages.ts';
import type { FileSystem } from '../base/file-system.ts';
import { ActiveOperator } from '../taskmanager/operators/active-operator.ts';
import { TaskExecutor } from '../taskmanager/task-executor.ts';
import type { BuiltJob, TaskSettings } from '../taskmanager/task/task-environment.ts';
import type { Slots, SlotsListener } from './slots.ts';

export interface InThreadOptions {
  readonly jobId: JobId;
  readonly clock: Clock;
  readonly random: Random;
  readonly fileSystem: FileSystem;
  readonly settings: TaskSettings;
  readonly stallWarningMs: number;
  buildJob(printLine: (line: string) => void): BuiltJob;
}

export class InThreadSlots implements Slots {
  readonly #options: InThreadOptions;
  #executor: TaskExecutor | null = null;
  #isClosed = false;

  constructor(options: InThreadOptions) {
    this.#options = options;
  }

  start(listener: SlotsListener): Promise<void> {
    const { jobId, clock, random, fileSystem, settings } = this.#options;
    const printLine = (line: string): void => listener.printed(line);
    const executor: TaskExecutor = new TaskExecutor({
      environment: {
        jobId,
        clock,
        random,
        fileSystem,
        settings,
        logger: listener.logger,
        exchange: createExchange({
          threadId: 0,
          threadOfSlot: () => 0,
          onActivity: () => executor.wakeUp(),
        }),
        active: new ActiveOperator(),
        buildJob: () => this.#options.buildJob(printLine),
        send: (message) => this.#later(() => listener.received(structuredClone(message))),
      },
      stallWarningMs: this.#options.stallWarningMs,
    });
    this.#executor = executor;
    return Promise.resolve();
  }

  send(_slot: number, message: TaskManagerMessage): void {
    const copy = structuredClone(message);
    this.#later(() => this.#executor?.handle(copy));
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#executor?.close();
    return Promise.resolve();
  }

  #later(deliver: () => void): void {
    this.#options.clock.defer('message', () => {
      if (!this.#isClosed) deliver();
    });
  }
}
