/** What the main thread and a slot's thread say to each other. */
import type { PlainConfiguration } from '../base/configuration.ts';
import type { ErrorInfo } from '../base/errors.ts';
import type { JobId } from '../base/ids.ts';
import type { LogLevel } from '../base/logger.ts';
import type { JobManagerMessage, TaskManagerMessage } from '../protocol/messages.ts';

/** Shared memory between two slots' threads, as seen by one of them. */
export interface LinkBuffers {
  readonly threadId: number;
  readonly outgoing: SharedArrayBuffer;
  readonly incoming: SharedArrayBuffer;
  /** The peer's signal. */
  readonly signal: SharedArrayBuffer;
}

export interface SlotThreadData {
  /** Also the number of the slot. */
  readonly threadId: number;
  readonly jobId: JobId;
  readonly bundleUrl: string;
  readonly arguments: readonly string[];
  readonly configuration: PlainConfiguration;
  readonly planHash: string;
  readonly signal: SharedArrayBuffer;
  /** See `ActiveOperator`. */
  readonly active: SharedArrayBuffer;
  readonly links: readonly LinkBuffers[];
  readonly seed: number;
}

export type ToSlotThread =
  | { readonly type: 'message'; readonly message: TaskManagerMessage }
  /** A thread was replaced: its links are new. */
  | { readonly type: 'link'; readonly link: LinkBuffers }
  | { readonly type: 'unlink'; readonly threadId: number };

export type FromSlotThread =
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly error: ErrorInfo }
  | { readonly type: 'message'; readonly message: JobManagerMessage }
  | { readonly type: 'log'; readonly level: LogLevel; readonly message: string }
  | { readonly type: 'print'; readonly line: string };
