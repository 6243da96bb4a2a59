/**
 * The command `weir`: chooses the command, and turns every error into one clear message and an exit
 * code. Called by `main.ts` with the real environment and by tests with one of their own.
 */
import { messageOf, toErrorInfo } from '../base/errors.ts';
import { didYouMean } from '../base/nearest.ts';
import {
  CANCEL,
  CHECK_UPGRADE,
  CHECKPOINT,
  COMMANDS,
  DIFF,
  EXPLAIN,
  HELP_COMMAND,
  INSPECT,
  LIST,
  RUN,
  SAVEPOINT,
  STOP,
  TX,
} from './commands.ts';
import { badArguments, runAction } from './operate/action.ts';
import type { Action } from './operate/action.ts';
import type { Environment } from './environment.ts';
import { EXIT_OK, EXIT_USAGE, exitCodeOfError } from './exit-codes.ts';
import { helpFor, overview } from './help.ts';
import { parseOptions, usageError } from './options.ts';
import type { ParsedOptions } from './options.ts';
import { errorLines } from './report/error-lines.ts';
import { styleFor } from './text/style.ts';

type Handler = (options: ParsedOptions, environment: Environment) => Promise<number>;

/** Each loads what it needs, so that a help text does not wait for an engine. */
const HANDLERS: Readonly<Record<string, Handler>> = {
  [RUN.name]: async (...given) => (await import('./run-command.ts')).runCommand(...given),
  [EXPLAIN.name]: async (...given) =>
    (await import('./explain-command.ts')).explainCommand(...given),
  [INSPECT.name]: async (...given) =>
    (await import('./inspect-command.ts')).inspectCommand(...given),
  [TX.name]: async (...given) => (await import('./tx-command.ts')).txCommand(...given),
  [DIFF.name]: async (...given) => (await import('./diff-command.ts')).diffCommand(...given),
  [CHECK_UPGRADE.name]: async (...given) =>
    (await import('./check-upgrade-command.ts')).checkUpgradeCommand(...given),
  ...actions({
    [LIST.name]: async () => (await import('./operate/list-command.ts')).listCommand,
    [CANCEL.name]: async () => (await import('./operate/cancel-command.ts')).cancelCommand,
    [STOP.name]: async () => (await import('./operate/stop-command.ts')).stopCommand,
    [SAVEPOINT.name]: async () => (await import('./operate/savepoint-command.ts')).savepointCommand,
    [CHECKPOINT.name]: async () =>
      (await import('./operate/checkpoint-command.ts')).checkpointCommand,
  }),
  [HELP_COMMAND.name]: async ({ words }, environment) => showHelp(words[0], environment),
};

/** Commands that answer as Flink's client does. */
function actions(
  load: Readonly<Record<string, () => Promise<Action>>>,
): Readonly<Record<string, Handler>> {
  return Object.fromEntries(
    Object.entries(load).map(([name, loaded]) => [
      name,
      async (options, environment) => runAction(await loaded(), options, environment),
    ]),
  );
}

const JOB_FILE = /\.[cm]?[jt]sx?$/;

/** Carries out the command that these words ask for; the result is the exit code. Never throws. */
export async function commandLine(
  args: readonly string[],
  environment: Environment,
): Promise<number> {
  try {
    return await dispatch(args, environment);
  } catch (error) {
    return reportError(error, args, environment);
  }
}

/** Shows what ended a command; the result is the exit code. */
export function reportError(
  error: unknown,
  args: readonly string[],
  environment: Environment,
): number {
  const { terminal, variables, workingDirectory, internalDirectories } = environment;
  const info = toErrorInfo(error);
  const style = styleFor(terminal.error.isTerminal, variables);
  const verbose = args.includes('--verbose') || args.includes('-v');
  const context = { workingDirectory, internalDirectories, verbose, style };
  terminal.clear();
  for (const line of errorLines(info, context)) terminal.warn(line);
  return exitCodeOfError(info);
}

async function dispatch(args: readonly string[], environment: Environment): Promise<number> {
  const [name, ...rest] = args;
  const { terminal, version } = environment;
  if (name === undefined) {
    terminal.warn(overview());
    return EXIT_USAGE;
  }
  if (name === '--help' || name === '-h') return showHelp(rest[0], environment);
  if (name === '--version' || name === '-v') {
    terminal.print(`weir ${version}`);
    return EXIT_OK;
  }
  const command = COMMANDS.find((one) => one.name === name);
  if (command === undefined) throw unknownCommand(name);
  let options: ParsedOptions;
  try {
    options = parseOptions(rest, { ...command, command: `weir ${name}` });
  } catch (error) {
    if (command.isAction === true) return badArguments(messageOf(error), environment);
    throw error;
  }
  if (options.has('--help')) return showHelp(name, environment);
  return HANDLERS[name]!(options, environment);
}

function showHelp(name: string | undefined, { terminal }: Environment): number {
  const command = COMMANDS.find((one) => one.name === name);
  if (name !== undefined && command === undefined) throw unknownCommand(name);
  terminal.print(command === undefined ? overview() : helpFor(command));
  return EXIT_OK;
}

function unknownCommand(name: string): Error {
  if (JOB_FILE.test(name)) return usageError(`to run the job write: weir run ${name}`);
  const kind = name.startsWith('-') ? 'option' : 'command';
  const names = [...COMMANDS.map((command) => command.name), '--version', '--help'];
  const suggestion = didYouMean(name, names) || '; see: weir help';
  return usageError(`there is no ${kind} ${name}${suggestion}`);
}
