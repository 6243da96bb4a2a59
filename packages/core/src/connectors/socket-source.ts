import type { Source } from '../api/source.ts';
import type { Format } from './formats/format.ts';

/** A connection to read; only one exists. */
export interface SocketSplit {
  readonly id: 'socket';
}

export interface SocketSourceOptions<T> {
  readonly host: string;
  readonly port: number;
  readonly format: Format<T>;
  /** Default `fail`. */
  readonly onMalformed?: 'fail' | 'skip';
  /** A longer line is malformed. Default 1 MiB. */
  readonly maxLineBytes?: number;
}

/**
 * Reads lines from a TCP server, with one connection, until the server closes it. Not replayable:
 * what was read before a failure and not in a checkpoint is lost.
 */
export function socketSource<T>(
  options: SocketSourceOptions<T>,
): Source<T, SocketSplit, { readonly assigned: boolean }> {
  throw new Error(`socketSource ${options.host}`);
}
