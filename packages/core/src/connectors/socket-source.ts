/** The socket source as jobs see it; `socket-reader.ts` holds how it reads. */
import type { Source } from '../api/source.ts';
import { ConfigurationError } from '../base/errors.ts';
import { checkWhole } from './check-options.ts';
import type { Format } from './formats/format.ts';
import { SocketEnumerator, SocketReader } from './socket-reader.ts';
import type { SocketSplit, SocketState } from './socket-reader.ts';

export interface SocketSourceOptions<T> {
  readonly host: string;
  readonly port: number;
  /** One without a header line. */
  readonly format: Format<T>;
  /** What to do with a line that cannot be read: end the attempt, or count it. Default `fail`. */
  readonly onMalformed?: 'fail' | 'skip';
  /** A longer line is malformed. Default 1 MiB. */
  readonly maxLineBytes?: number;
}

const MAX_LINE_BYTES = 1024 ** 2;

/**
 * Reads lines from a TCP server with one connection, in one subtask, until the server closes it.
 * Not replayable: what was read before a failure and is in no checkpoint is lost. Fails with
 * `SOURCE_UNAVAILABLE` when the connection cannot be made or breaks.
 * @throws ConfigurationError when an option is not allowed.
 */
export function socketSource<T>(
  options: SocketSourceOptions<T>,
): Source<T, SocketSplit, SocketState> {
  const { host, port, format } = options;
  checkWhole(port, 1, 'socketSource port');
  checkWhole(options.maxLineBytes, 1, 'socketSource maxLineBytes');
  if (format.hasHeader)
    throw new ConfigurationError(
      `socketSource format: ${format.name} takes its columns from a header line, which a stream ` +
        'does not have; give the columns and set header to false',
    );
  const readerOptions = {
    host,
    port,
    format,
    onMalformed: options.onMalformed ?? 'fail',
    maxLineBytes: options.maxLineBytes ?? MAX_LINE_BYTES,
  };
  return {
    name: 'socket',
    boundedness: 'unbounded',
    replay: 'none',
    createEnumerator: (context, restored) => new SocketEnumerator(context, restored),
    createReader: (context) => new SocketReader(context, readerOptions),
    describeSplit: () => `${host}:${port}`,
  };
}
