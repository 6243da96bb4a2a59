/**
 * Finds the user's own places in a stack trace: whoever reads an error wants `orders.ts:12`, not
 * forty lines of the engine. Traces of bundled jobs name the sources already, since source maps are
 * on before a job is loaded. Used by reports of errors and by the loader of jobs.
 */

export interface StackFrame {
  /** `null` for code at the top of a module and for anonymous functions. */
  readonly functionName: string | null;
  /** Absolute path, or a `node:` name. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The frames of `Error.stack`, innermost first; lines of other forms are left out. */
export function parseFrames(stack: string): readonly StackFrame[] {
  return stack.split('\n').flatMap((line) => parseFrame(line) ?? []);
}

/**
 * The frames in the user's files: neither of Node, nor of installed packages, nor in a folder of
 * `internal` (the engine, the folder of bundles).
 */
export function userFrames(stack: string, internal: readonly string[]): readonly StackFrame[] {
  return parseFrames(stack).filter(
    ({ file }) =>
      file.startsWith('/') &&
      !file.includes('/node_modules/') &&
      !internal.some((folder) => file.startsWith(folder)),
  );
}

function parseFrame(line: string): StackFrame | null {
  const match = /^\s+at (?:(.*) \()?(?:async )?(.+?):(\d+):(\d+)\)?$/.exec(line);
  if (match === null) return null;
  const name = match[1]?.replace(/^async /, '').replace(/^(?:Object|Module|module)\./, '');
  return {
    functionName: name === undefined || name === '<anonymous>' ? null : name,
    file: pathOf(match[2]!),
    line: Number(match[3]),
    column: Number(match[4]),
  };
}

function pathOf(place: string): string {
  if (!place.startsWith('file://')) return place;
  const path = place.slice('file://'.length).replace(/[?#].*$/, '');
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
