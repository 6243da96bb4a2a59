/** `weir run`: reads the command line, loads the job, runs it, and shows how it goes. */
import { Configuration } from '../base/configuration.ts';
import { toErrorInfo } from '../base/errors.ts';
import { JOB_ID_PATTERN } from '../base/ids.ts';
import type { JobId } from '../base/ids.ts';
import { dataDirectoryOf, readConfiguration } from './configuration-layers.ts';
import type { Environment, StopSignal } from './environment.ts';
import { exitCodeOfError, exitCodeOfRun, exitCodeOfSignal } from './exit-codes.ts';
import { usageError } from './options.ts';
import type { ParsedOptions } from './options.ts';
import { resumeCommand } from './resume-command.ts';
import { RunReport } from './report/run-report.ts';
import type { ReportMode } from './report/run-report.ts';
import type { RunOptions } from './run-contract.ts';
import { StopSwitch } from './stop-switch.ts';
import { styleFor } from './text/style.ts';

/** Parallelism beyond Flink's number of key groups can never be used. */
const PARALLELISM_MAX = 32_768;

/** The exit code. Errors of the command line itself are thrown. */
export async function runCommand(
  options: ParsedOptions,
  environment: Environment,
): Promise<number> {
  const [jobPath] = options.words;
  if (jobPath === undefined)
    throw usageError('weir run: name the job to run, as in: weir run job.ts');
  checkCombination(options);
  const parallelism = parallelismOf(options, 'weir run');
  const jobId = givenJobId(options, 'weir run');

  const report = startReport(options, environment);
  try {
    const given = await readConfiguration(environment, {
      file: options.value('--config'),
      properties: options.values('-D'),
    });
    const configuration = given.mergedWith(claimLayer(options, given));
    const job = await environment.loadJob(jobPath);
    const how = { parallelism, jobId, configuration };
    const run = { ...runOptions(options, how, environment), job };
    return await carryOut(run, report, environment);
  } catch (error) {
    const info = toErrorInfo(error);
    const exitCode = exitCodeOfError(info);
    report.failed(info, exitCode);
    return exitCode;
  }
}

/** `-p` as a number; also used by `weir explain`. */
export function parallelismOf(options: ParsedOptions, command: string): number | null {
  const text = options.value('--parallelism');
  if (text === null) return null;
  const parallelism = /^\d+$/.test(text) ? Number(text) : 0;
  if (parallelism >= 1 && parallelism <= PARALLELISM_MAX) return parallelism;
  const range = `a whole number from 1 to ${PARALLELISM_MAX}`;
  throw usageError(`${command}: -p ${text}: the parallelism must be ${range}`);
}

/** `-cm claim`, as a layer of the configuration. */
function claimLayer(options: ParsedOptions, given: Configuration): Configuration {
  const key = 'execution.state-recovery.claim-mode';
  const text = options.value('--claimMode') ?? options.value('--restoreMode');
  if (text === null) return Configuration.empty;
  const path = options.value('--fromSavepoint') ?? given.get('execution.state-recovery.path');
  if (path === null)
    throw usageError('weir run: --claimMode says what becomes of the snapshot of -s: give both');
  const mode = text.toUpperCase();
  if (mode === 'NO_CLAIM' || mode === 'CLAIM' || mode === 'LEGACY')
    return Configuration.of({ [key]: mode }, '--claimMode');
  throw usageError(`weir run: --claimMode ${text}: it is no_claim or claim`);
}

type Given = Pick<RunOptions, 'parallelism' | 'jobId'> & { readonly configuration: Configuration };

function runOptions(
  options: ParsedOptions,
  given: Given,
  environment: Environment,
): Omit<RunOptions, 'job' | 'listener'> {
  const { configuration } = given;
  return {
    ...given,
    arguments: options.words.slice(1),
    restorePath:
      options.value('--fromSavepoint') ?? configuration.get('execution.state-recovery.path'),
    allowNonRestored:
      options.has('--allowNonRestoredState') ||
      configuration.get('execution.state-recovery.ignore-unclaimed-state'),
    fresh: options.has('--fresh'),
    append: options.has('--append'),
    dataDirectory: dataDirectoryOf(configuration, environment),
    rest: options.has('--no-rest') ? null : { port: configuration.get('rest.port') },
  };
}

async function carryOut(
  run: Omit<RunOptions, 'listener'>,
  report: RunReport,
  environment: Environment,
): Promise<number> {
  const stop = new StopSwitch();
  let stoppedBy: StopSignal | null = null;
  const unhook = environment.onSignal((signal) => {
    if (stoppedBy !== null) {
      report.close();
      environment.exit(exitCodeOfSignal(signal));
      return;
    }
    stoppedBy = signal;
    report.note('stopping; the state is kept. Once more to end at once.');
    stop.stop('suspend');
  });
  try {
    const outcome = await environment.runLocal({
      ...run,
      stop,
      listener: (event) => report.event(event),
    });
    const exitCode = exitCodeOfRun(outcome, stoppedBy);
    report.end(outcome, exitCode);
    return exitCode;
  } finally {
    unhook();
  }
}

function checkCombination(options: ParsedOptions): void {
  if (options.has('--fresh') && options.has('--fromSavepoint'))
    throw usageError('weir run: --fresh starts empty and -s from a snapshot; give one of them');
  if (options.has('--json') && options.has('--quiet'))
    throw usageError('weir run: give --json or --quiet, not both');
}

/** `--job-id`; `null`: not given. */
export function givenJobId(options: ParsedOptions, command: string): JobId | null {
  const text = options.value('--job-id');
  if (text === null) return null;
  const id = text.toLowerCase();
  if (JOB_ID_PATTERN.test(id)) return id as JobId;
  const example = 'fd72014d4c864993a2e5a9287b4a9c5d';
  throw usageError(
    `${command}: --job-id ${text}: an id is 32 hexadecimal digits, as in ${example}`,
  );
}

function startReport(options: ParsedOptions, environment: Environment): RunReport {
  const { terminal, clock, variables, workingDirectory, internalDirectories } = environment;
  const mode = modeOf(options, environment);
  // Standard output is then for the events alone.
  if (mode === 'json') terminal.jobOutput = terminal.error;
  return new RunReport({
    mode,
    terminal,
    clock,
    style: styleFor(terminal.out.isTerminal, variables),
    errors: {
      workingDirectory,
      internalDirectories,
      verbose: options.has('--verbose'),
      style: styleFor(terminal.error.isTerminal, variables),
    },
    resumeCommand: resumeCommand(options),
  });
}

function modeOf(options: ParsedOptions, { terminal, variables }: Environment): ReportMode {
  if (options.has('--json')) return 'json';
  if (options.has('--quiet')) return 'quiet';
  return terminal.isLive && variables['TERM'] !== 'dumb' ? 'live' : 'plain';
}
