/**
 * Sinks that hand each record to a function: for the console, for tests, for embedding. They write
 * plainly: after a failure some records come again.
 */
import type { SinkGuaranteeFacts } from './guarantee-facts.ts';
import type { Sink, SinkWriter, SinkWriterContext } from './sink.ts';

/** Calls `fn` for each record. */
export function forEachSink<T>(fn: (value: T) => void): Sink<T> {
  return callbackSink('ForEach', () => fn);
}

/** Pushes each record into `into`. */
export function collectSink<T>(into: T[]): Sink<T> {
  return callbackSink('Collect', () => (value) => {
    into.push(value);
  });
}

/**
 * Writes each record as a line: `label:2> value`, with the number of the subtask where there are
 * several. `printLine` is the console of the run; `null`: the log.
 */
export function printSink<T>(
  label: string | null,
  printLine: ((line: string) => void) | null,
): Sink<T> {
  return callbackSink('Print', ({ subtask, parallelism, logger }) => {
    const place = [label, parallelism > 1 ? String(subtask + 1) : null].filter(
      (part) => part !== null,
    );
    const prefix = place.length === 0 ? '' : `${place.join(':')}> `;
    const print = printLine ?? ((line: string): void => logger.log('info', line));
    return (value) => print(prefix + formatRecord(value));
  });
}

/** A record as one line: text as it is, everything else in the manner of JSON. */
export function formatRecord(value: unknown): string {
  if (typeof value === 'string') return value;
  return JSON.stringify(value, showUnusual) ?? String(value);
}

function showUnusual(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return value;
}

function callbackSink<T>(
  name: string,
  start: (context: SinkWriterContext) => (value: T) => void,
): Sink<T> & SinkGuaranteeFacts {
  return {
    name,
    write: 'plain',
    isVolatile: true,
    createWriter: (context) => callbackWriter(start(context)),
  };
}

function callbackWriter<T>(write: (value: T) => void): SinkWriter<T> {
  return {
    write,
    isWritable: true,
    whenWritable: () => Promise.resolve(),
    prepareCommit: () => ({ committables: [], writerStates: [], durable: Promise.resolve() }),
    close: () => Promise.resolve(),
  };
}
