/**
 * An error for a person: what happened, where in their own files, and what brought it about, in a
 * few lines. The whole story with every frame only when asked for. Pure.
 */
import { relative } from 'node:path';
import type { ErrorInfo } from '../../base/errors.ts';
import type { Style } from '../text/style.ts';
import { userFrames } from '../user-frames.ts';
import type { StackFrame } from '../user-frames.ts';

export interface ErrorContext {
  /** Files inside are named relative to it. */
  readonly workingDirectory: string;
  /** Folders whose frames mean nothing to a user. */
  readonly internalDirectories: readonly string[];
  readonly verbose: boolean;
  readonly style: Style;
}

const FRAMES_MAX = 5;
const CAUSES_MAX = 3;

export function errorLines(error: ErrorInfo, context: ErrorContext): readonly string[] {
  const { style } = context;
  const code = error.code === null ? '' : ` [${error.code}]`;
  const [first, ...rest] = error.message.split('\n');
  const name = error.code === null ? `${error.name}: ` : '';
  const lines = [`${style.bad(`Error${code}:`)} ${name}${first}`, ...rest.map(indented)];
  const excerpt = error.details['excerpt'];
  if (typeof excerpt === 'string') lines.push(...excerpt.split('\n').map(indented));
  if (context.verbose) return [...lines, ...stacksOf(error).map(style.faint)];
  for (const cause of tellingCauses(error))
    lines.push(...`caused by ${cause.name}: ${cause.message}`.split('\n').map(indented));
  return [...lines, ...placesIn(error, context)];
}

/** Causes that say something their effect did not say already. */
function tellingCauses(error: ErrorInfo): readonly ErrorInfo[] {
  const causes: ErrorInfo[] = [];
  let outer = error;
  for (const cause of chain(error).slice(1)) {
    if (!outer.message.includes(cause.message)) causes.push(cause);
    outer = cause;
  }
  return causes.slice(0, CAUSES_MAX);
}

/** The user's frames of the innermost error that has any; for what is not ours, else all. */
function placesIn(error: ErrorInfo, context: ErrorContext): readonly string[] {
  const thrown = chain(error).filter(({ code, kind }) => code === null || kind === 'function');
  for (const { stack } of thrown.toReversed()) {
    const frames = userFrames(stack, context.internalDirectories);
    if (frames.length > 0) return frames.slice(0, FRAMES_MAX).map((one) => place(one, context));
  }
  if (error.code !== null) return [];
  const hint = 'This is a fault of Weir: please report it with the lines above.';
  return [...framesOf(error).map(context.style.faint), indented(hint)];
}

function place(frame: StackFrame, { workingDirectory, style }: ErrorContext): string {
  const inside = relative(workingDirectory, frame.file);
  const file = inside.startsWith('..') ? frame.file : inside;
  const name = frame.functionName === null ? '' : ` (${frame.functionName})`;
  return style.faint(indented(`at ${file}:${frame.line}:${frame.column}${name}`));
}

function stacksOf(error: ErrorInfo): readonly string[] {
  return chain(error).flatMap((one, index) =>
    index === 0
      ? framesOf(one)
      : [indented(`caused by ${one.name}: ${one.message}`), ...framesOf(one)],
  );
}

function framesOf(error: ErrorInfo): readonly string[] {
  return error.stack.split('\n').filter((line) => /^\s+at /.test(line));
}

function chain(error: ErrorInfo): readonly ErrorInfo[] {
  const errors: ErrorInfo[] = [];
  for (let one: ErrorInfo | undefined = error; one !== undefined; one = one.causes[0])
    errors.push(one);
  return errors;
}

function indented(line: string): string {
  return `    ${line}`;
}
