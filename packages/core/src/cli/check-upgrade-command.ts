/** `weir check-upgrade`: whether a job can go on from a snapshot, without starting it. */
import { checkUpgrade } from '../jobmanager/check-upgrade.ts';
import type { OperatorFate } from '../jobmanager/check-upgrade.ts';
import type { StateFinding } from '../jobmanager/check-state-types.ts';
import { prepareJob, withParallelism } from '../jobmanager/prepare-run.ts';
import { locateSnapshot } from '../storage/locate-snapshot.ts';
import { readConfiguration } from './configuration-layers.ts';
import type { Environment } from './environment.ts';
import { EXIT_OK } from './exit-codes.ts';
import { usageError } from './options.ts';
import type { ParsedOptions } from './options.ts';
import { parallelismOf } from './run-command.ts';
import { formatBytes, formatCount, formatNumberOf } from './text/format.ts';

/** What does not fit is thrown, and ends with the exit code that a start would have. */
export async function checkUpgradeCommand(
  options: ParsedOptions,
  environment: Environment,
): Promise<number> {
  const [path, jobPath, ...jobArguments] = options.words;
  if (path === undefined || jobPath === undefined)
    throw usageError(
      'weir check-upgrade: name the snapshot and the job, as in: weir check-upgrade ' +
        'savepoints/savepoint-1 job.ts',
    );
  const { terminal, fileSystem, clock, workingDirectory } = environment;
  const parallelism = parallelismOf(options, 'weir check-upgrade');
  const given = await readConfiguration(environment, {
    file: options.value('--config'),
    properties: options.values('-D'),
  });
  const io = { fileSystem, clock };
  const snapshot = await locateSnapshot(io, path, workingDirectory);
  const { job } = await environment.loadJob(jobPath);
  const configuration = withParallelism(given, parallelism);
  const prepared = prepareJob(job, { arguments: jobArguments, configuration });
  const allowNonRestored =
    options.has('--allowNonRestoredState') ||
    prepared.configuration.get('execution.state-recovery.ignore-unclaimed-state');
  const fates = await checkUpgrade(io, snapshot, prepared, allowNonRestored);
  const { kind, checkpointId, jobName } = snapshot.metadata;
  if (options.has('--json')) {
    const facts = { path: snapshot.directory, kind, checkpointId, jobName, operators: fates };
    terminal.print(JSON.stringify(facts, null, 2));
    return EXIT_OK;
  }
  terminal.print(`${kind} ${checkpointId} of job ${jobName} (${snapshot.directory})`);
  for (const fate of fates) for (const line of linesOf(fate)) terminal.print(line);
  for (const warning of prepared.warnings) terminal.warn(`Warning: ${warning}`);
  terminal.print(`job ${prepared.jobGraph.jobName} can be started from it`);
  return EXIT_OK;
}

function linesOf(fate: OperatorFate): readonly string[] {
  const { operator, states, keyCount, sizeBytes } = fate;
  const amount = `${formatNumberOf(keyCount, 'key')}, ${formatBytes(sizeBytes)}`;
  switch (fate.fate) {
    case 'new':
      return [`  ${operator} is new and starts empty`];
    case 'dropped':
      return [`  ${operator} is gone: its state is dropped (${amount})`];
    case 'restored':
      return [`  ${operator}: ${amount}${parallelismText(fate)}`, ...states.map(stateLine)];
  }
}

function parallelismText({ storedParallelism, parallelism, maxParallelism }: OperatorFate): string {
  if (parallelism === null || storedParallelism === null) return '';
  if (parallelism === storedParallelism) return `, parallelism ${parallelism}`;
  return `, parallelism ${storedParallelism} -> ${parallelism} (at most ${maxParallelism})`;
}

function stateLine({ state, kind, fate, ...facts }: StateFinding): string {
  const { storedVersion, declaredVersion, sampled } = facts;
  const how =
    fate === 'dropped'
      ? 'is declared no more: dropped'
      : fate === 'as it is'
        ? 'is read as it is'
        : storedVersion === declaredVersion
          ? 'is checked by its schema'
          : `migrates from version ${storedVersion} to ${declaredVersion}`;
  const proof = sampled === 0 ? '' : `; ${formatCount(sampled)} keys were read`;
  return `    ${state} (${kind}) ${how}${proof}`;
}
