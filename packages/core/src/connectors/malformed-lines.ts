/**
 * What happens to a line that its format cannot read: it ends the attempt, is counted, or is
 * counted and written to a dead-letter folder. How dead letters are kept is the source's.
 */
import type { Counter, UserMetrics } from '../api/functions.ts';
import { SerializationError, messageOf } from '../base/errors.ts';

export interface MalformedLine {
  /** Where the line comes from: a path, or host and port. */
  readonly origin: string;
  /** Of its first byte. */
  readonly position: number;
  /** Without line end; of a line that is too long, the beginning. */
  readonly bytes: Buffer;
  /** `null` when the bytes are not text. */
  readonly text: string | null;
  readonly reason: unknown;
}

export interface MalformedHandler {
  /** Returns when the line is to be passed over; else throws `RECORD_MALFORMED`. */
  handle(line: MalformedLine): void;
}

const EXCERPT_LENGTH = 200;

export function failOnMalformed(formatName: string): MalformedHandler {
  return {
    handle: (line) => {
      throw malformedError(formatName, line);
    },
  };
}

/** Counts, and hands the line on as one JSON text, where `keep` is given. */
export function passOverMalformed(
  metrics: UserMetrics,
  keep?: (position: number, entry: string) => void,
): MalformedHandler {
  // Made with the first use, so that a job without malformed records does not show the counter.
  let counter: Counter | null = null;
  return {
    handle: (line) => {
      counter ??= metrics.counter('malformedRecords');
      counter.add();
      keep?.(line.position, deadLetterEntry(line));
    },
  };
}

export function malformedError(formatName: string, line: MalformedLine): SerializationError {
  const { origin, position, reason } = line;
  const excerpt = (line.text ?? line.bytes.toString('latin1')).slice(0, EXCERPT_LENGTH);
  return new SerializationError(
    `${origin}: the line at byte ${position} cannot be read as ${formatName}: ` +
      `${messageOf(reason)}; the line is ${JSON.stringify(excerpt)}; mend the input, or choose ` +
      'what happens to such lines with onMalformed',
    {
      code: 'RECORD_MALFORMED',
      details: { file: origin, position, line: excerpt },
      cause: reason,
    },
  );
}

function deadLetterEntry({ origin, position, reason, text, bytes }: MalformedLine): string {
  const content = text === null ? { bytesBase64: bytes.toString('base64') } : { line: text };
  return JSON.stringify({ file: origin, position, reason: messageOf(reason), ...content });
}
