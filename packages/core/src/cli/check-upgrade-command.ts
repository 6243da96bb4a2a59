/** `weir check-upgrade`: whether a job can go on from a snapshot, without starting it. */
import { fromErrorInfo } from '../base/errors.ts';
import { seededRandom } from '../base/random.ts';
import { checkUpgrade } from '../jobmanager/check-upgrade.ts';
import type { PreparedJob } from '../jobmanager/prepare-run.ts';
import { prepareJob, withParallelism } from '../jobmanager/prepare-run.ts';
import { jobIdOf } from '../jobmanager/run-state.ts';
import { JobStore } from '../storage/job-store.ts';
import { locateSnapshot } from '../storage/locate-snapshot.ts';
import type { StoredSnapshot } from '../storage/stored-snapshot.ts';
import { dataDirectoryOf, readConfiguration } from './configuration-layers.ts';
import type { Environment } from './environment.ts';
import { EXIT_OK } from './exit-codes.ts';
import { usageError } from './options.ts';
import type { ParsedOptions } from './options.ts';
import { givenJobId, parallelismOf } from './run-command.ts';
import { upgradeLines } from './upgrade-lines.ts';

const COMMAND = 'weir check-upgrade';

/** What does not fit is thrown, and ends with the exit code that a start would have. */
export async function checkUpgradeCommand(
  options: ParsedOptions,
  environment: Environment,
): Promise<number> {
  const { path, jobPath, jobArguments } = operandsOf(options.words);
  const { terminal, fileSystem, clock, workingDirectory } = environment;
  const parallelism = parallelismOf(options, COMMAND);
  const jobId = givenJobId(options, COMMAND);
  const given = await readConfiguration(environment, {
    file: options.value('--config'),
    properties: options.values('-D'),
  });
  const snapshot = await locateSnapshot({ fileSystem, clock }, path, workingDirectory);
  const { job } = await environment.loadJob(jobPath);
  const configuration = withParallelism(given, parallelism);
  const prepared = prepareJob(job, { arguments: jobArguments, configuration });
  const upgrade = await checkUpgrade(
    {
      environment: connectorEnvironment(environment),
      allowNonRestored: allowsNonRestored(options, prepared),
      jobId: jobId ?? jobIdOf(prepared.jobGraph.jobName),
    },
    snapshot,
    prepared,
  );
  const wentOn = await laterCheckpoint(snapshot, prepared, environment);
  const { kind, checkpointId, jobName } = snapshot.metadata;
  if (options.has('--json')) {
    const facts = { path: snapshot.directory, kind, checkpointId, jobName, ...upgrade };
    terminal.print(JSON.stringify({ ...facts, laterCheckpoint: wentOn }, null, 2));
  } else {
    terminal.print(`${kind} ${checkpointId} of job ${jobName} (${snapshot.directory})`);
    for (const line of upgradeLines(upgrade, wentOn)) terminal.print(line);
  }
  for (const warning of prepared.warnings) terminal.warn(`Warning: ${warning}`);
  const obstacle = upgrade.sinks.find((sink) => sink.obstacle !== null)?.obstacle ?? null;
  if (obstacle !== null) throw fromErrorInfo(obstacle);
  if (!options.has('--json'))
    terminal.print(`job ${prepared.jobGraph.jobName} can be started from it`);
  return EXIT_OK;
}

const JOB_FILE = /\.[cm]?[jt]sx?$/;

function operandsOf([path, jobPath, ...jobArguments]: readonly string[]): {
  readonly path: string;
  readonly jobPath: string;
  readonly jobArguments: readonly string[];
} {
  if (path === undefined || jobPath === undefined)
    throw usageError(
      `${COMMAND}: name the snapshot and the job, as in: ${COMMAND} savepoints/savepoint-1 job.ts`,
    );
  if (JOB_FILE.test(path) && !JOB_FILE.test(jobPath))
    throw usageError(
      `${COMMAND}: the snapshot comes before the job, as in: ${COMMAND} ${jobPath} ${path}`,
    );
  return { path, jobPath, jobArguments };
}

function allowsNonRestored(options: ParsedOptions, { configuration }: PreparedJob): boolean {
  return (
    options.has('--allowNonRestoredState') ||
    configuration.get('execution.state-recovery.ignore-unclaimed-state')
  );
}

function connectorEnvironment({
  fileSystem,
  clock,
  terminal,
}: Environment): Parameters<typeof checkUpgrade>[0]['environment'] {
  return {
    fileSystem,
    clock,
    random: seededRandom(clock.wallTime()),
    logger: {
      log: (level, message) => {
        if (level === 'warn' || level === 'error') terminal.warn(`Warning: ${message}`);
      },
    },
  };
}

/** The newest checkpoint with which a run has gone on since the snapshot; `null`: none is known. */
async function laterCheckpoint(
  { metadata }: StoredSnapshot,
  { configuration }: PreparedJob,
  environment: Environment,
): Promise<number | null> {
  const { fileSystem, clock } = environment;
  const io = { fileSystem, clock, random: seededRandom(1) };
  const store = new JobStore(io, dataDirectoryOf(configuration, environment));
  const seen = await store.open(metadata.jobId).read();
  const newest = seen?.record.completed.at(-1)?.checkpointId ?? 0;
  return newest > metadata.checkpointId ? newest : null;
}
