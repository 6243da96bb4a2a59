/**
 * Where in the user's code a call was made, for messages and for `explain`. Read from a stack trace
 * that starts below the public method, so frames of this package never show, bundled or not. Cost:
 * some microseconds for each operator, while the graph is built.
 */

/** A place in a file: a path or URL, line and column from 1. */
export interface CodeLocation {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Maps a place in loaded code to the source that it was made from; `null`: unknown. */
export type MapLocation = (location: CodeLocation) => CodeLocation | null;

/**
 * The place that called `owner[method]`, which must be running; such as `orders.ts:14`. `null` when
 * the platform keeps no stack traces.
 */
export function locationOfCaller<O extends object>(
  owner: O,
  method: keyof O & string,
  map?: MapLocation,
): string | null {
  const { stackTraceLimit } = Error;
  if (stackTraceLimit === 0) return null;
  const holder: { stack?: string } = {};
  // One frame is all that is read.
  Error.stackTraceLimit = Math.min(1, stackTraceLimit);
  // Only its identity counts: frames down to this function's are left out of the trace.
  Error.captureStackTrace(holder, owner[method] as () => void);
  Error.stackTraceLimit = stackTraceLimit;
  const frame = parseFrame(holder.stack?.split('\n')[1] ?? '');
  const mapped = frame === null || map === undefined ? frame : map(frame);
  if (mapped === null) return null;
  const name = mapped.file.split(/[/\\]/).at(-1)!.replaceAll('%20', ' ');
  return `${name}:${mapped.line}`;
}

/** Reads one line of `Error.stack`: `at f (file:///a/b.ts:14:5)`, with or without the function. */
function parseFrame(line: string): CodeLocation | null {
  const text = line.trim().replace(/^at (?:async )?/, '');
  const place = text.endsWith(')') ? text.slice(text.lastIndexOf('(') + 1, -1) : text;
  const match = /^(.+):(\d+):(\d+)$/.exec(place);
  if (match === null) return null;
  return { file: match[1]!, line: Number(match[2]), column: Number(match[3]) };
}
