/**
 * The frame of the commands that operate running jobs. Scripts written for Flink's client read
 * what they print, so texts, streams and exit codes are Flink's: what is wrong with the command
 * line goes to standard output, what went wrong with the operation to standard error, both with
 * exit code 1; 31 when the configuration cannot be read.
 */
import { isWeirError, messageOf } from '../../base/errors.ts';
import type { Environment } from '../environment.ts';
import { EXIT_FAILED, EXIT_OK, EXIT_UNCONFIGURED } from '../exit-codes.ts';
import type { ParsedOptions } from '../options.ts';

/** What is said when the operation itself fails, above its cause. */
export class ActionError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'ActionError';
  }
}

export type Action = (options: ParsedOptions, environment: Environment) => Promise<void>;

/** The exit code. */
export async function runAction(
  action: Action,
  options: ParsedOptions,
  environment: Environment,
): Promise<number> {
  const { terminal } = environment;
  try {
    await action(options, environment);
    return EXIT_OK;
  } catch (error) {
    if (isWeirError(error) && error.code === 'ARGUMENT_INVALID')
      return badArguments(messageOf(error), environment);
    const cause = error instanceof ActionError ? error.cause : error;
    if (isWeirError(cause) && cause.code === 'CONFIG_INVALID') {
      terminal.warn(messageOf(cause));
      return EXIT_UNCONFIGURED;
    }
    for (const line of failureLines(error)) terminal.warn(line);
    return EXIT_FAILED;
  }
}

export function badArguments(message: string, { terminal }: Environment): number {
  terminal.print(message);
  terminal.print('');
  terminal.print('Use the help option (-h or --help) to get help on the command.');
  return EXIT_FAILED;
}

/** Runs `work`; what it throws is told below `message`. */
export async function orFail<T>(message: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new ActionError(message, error);
  }
}

function failureLines(error: unknown): readonly string[] {
  const lines = [
    '',
    '-'.repeat(60),
    ' The program finished with the following exception:',
    '',
    messageOf(error),
  ];
  for (
    let cause: unknown = error instanceof Error ? error.cause : undefined;
    cause instanceof Error;
    cause = cause.cause
  )
    lines.push(`Caused by: ${messageOf(cause)}`);
  return lines;
}
