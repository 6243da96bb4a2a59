/** Exit codes of `weir`; documented in docs/reference/cli.md. */
import type { ErrorCode } from '../base/error-codes.ts';
import type { ErrorInfo } from '../base/errors.ts';
import type { StopSignal } from './environment.ts';
import type { RunOutcome } from './run-contract.ts';

export const EXIT_OK = 0;
/** The job failed, but might not the next time; or was cancelled, or Weir itself has a fault. */
export const EXIT_FAILED = 1;
/** The command line, a setting, the job, or a path, table or right that it names is wrong. */
export const EXIT_USAGE = 2;
/** The job could run, but not on top of what earlier runs left. */
export const EXIT_REFUSED = 3;

/** A command about running jobs could not begin: its configuration cannot be read. As Flink's. */
export const EXIT_UNCONFIGURED = 31;

const REFUSALS: readonly (ErrorCode | null)[] = [
  'JOB_ALREADY_RUNNING',
  'JOB_ARGUMENTS_CHANGED',
  'JOB_STATE_UNPROVEN',
  'OUTPUT_NOT_EMPTY',
  'SINK_AHEAD',
  'STATE_CORRUPT',
  'STATE_INCOMPATIBLE',
];

/** For an error that kept a command from doing its work. */
export function exitCodeOfError(error: ErrorInfo): number {
  if (error.code === 'JOB_FAILED') return EXIT_FAILED;
  if (REFUSALS.includes(error.code)) return EXIT_REFUSED;
  return error.kind === 'user' ? EXIT_USAGE : EXIT_FAILED;
}

/**
 * A mistake has the code that it has before the start. `signal`: the one that stopped the run, if
 * any.
 */
export function exitCodeOfRun(
  { status, error }: Pick<RunOutcome, 'status' | 'error'>,
  signal: StopSignal | null,
): number {
  switch (status) {
    case 'FINISHED':
    case 'ALREADY_FINISHED':
      return EXIT_OK;
    case 'SUSPENDED':
      return exitCodeOfSignal(signal ?? 'SIGTERM');
    case 'FAILED':
      // A refusal is of a start, which has changed nothing.
      return error !== null && exitCodeOfError(error) === EXIT_USAGE ? EXIT_USAGE : EXIT_FAILED;
    case 'CANCELED':
      return EXIT_FAILED;
  }
}

/** 128 and the signal's number, as shells report it. */
export function exitCodeOfSignal(signal: StopSignal): number {
  return signal === 'SIGINT' ? 130 : 143;
}
