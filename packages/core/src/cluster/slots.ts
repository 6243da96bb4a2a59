/** Where tasks run, as a run sees it: in threads of their own, or all in the present thread. */
import type { JobManagerMessage, TaskManagerMessage } from '../protocol/messages.ts';
import type { Logger } from '../base/logger.ts';

export interface SlotsListener {
  received(message: JobManagerMessage): void;
  /** The thread of a slot died with all that ran in it; a new one takes its place. */
  lost(slot: number, error: unknown): void;
  printed(line: string): void;
  readonly logger: Logger;
}

export interface Slots {
  /** Resolves when every slot can take tasks; rejects when one never will. */
  start(listener: SlotsListener): Promise<void>;
  send(slot: number, message: TaskManagerMessage): void;
  close(): Promise<void>;
}
