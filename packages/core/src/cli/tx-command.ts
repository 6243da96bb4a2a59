/**
 * `weir tx`: the transactions of a job that is down. Loads the job for its sinks, reads the newest
 * checkpoint for what it promises, and asks the outer systems for the rest.
 */
import { snapshotToResume } from '../jobmanager/find-snapshots.ts';
import { PendingTransactions } from '../jobmanager/pending-transactions.ts';
import type { PendingTransaction } from '../jobmanager/pending-transactions.ts';
import { prepareJob } from '../jobmanager/prepare-run.ts';
import { jobIdOf } from '../jobmanager/run-state.ts';
import { JobSubmissionError } from '../base/errors.ts';
import type { JobId } from '../base/ids.ts';
import { seededRandom } from '../base/random.ts';
import { silentLogger } from '../base/logger.ts';
import { JobStore } from '../storage/job-store.ts';
import type { JobRecord } from '../storage/job-store.ts';
import { joinPath } from '../storage/paths.ts';
import { TX } from './commands.ts';
import { dataDirectoryOf, readConfiguration } from './configuration-layers.ts';
import type { Environment } from './environment.ts';
import { EXIT_OK } from './exit-codes.ts';
import { parseOptions, usageError } from './options.ts';
import type { ParsedOptions } from './options.ts';

const ACTIONS = ['list', 'commit', 'abort', 'explain'] as const;
type TxAction = (typeof ACTIONS)[number];

export async function txCommand(given: ParsedOptions, environment: Environment): Promise<number> {
  const [word, ...rest] = given.words;
  const action = ACTIONS.find((one) => one === word);
  if (action === undefined)
    throw usageError(`weir tx: say what to do: ${ACTIONS.join(', ')}, as in: weir tx list job.ts`);
  const options = parseOptions(rest, { ...TX, command: `weir tx ${action}` });
  const [jobPath] = options.words;
  if (jobPath === undefined)
    throw usageError(`weir tx ${action}: name the job, as in: weir tx ${action} job.ts`);
  const found = await openJob(jobPath, options, environment);
  try {
    const ids = options.values('--id');
    const transactions = await perform(action, found.transactions, ids);
    if (options.has('--json')) environment.terminal.print(JSON.stringify(transactions, null, 2));
    else for (const line of linesOf(action, transactions, found)) environment.terminal.print(line);
    return EXIT_OK;
  } finally {
    await found.transactions.close();
  }
}

interface FoundJob {
  readonly transactions: PendingTransactions;
  readonly jobName: string;
  readonly checkpointId: number | null;
}

async function openJob(
  jobPath: string,
  options: ParsedOptions,
  environment: Environment,
): Promise<FoundJob> {
  const configuration = await readConfiguration(environment, {
    file: options.value('--config'),
    properties: options.values('-D'),
  });
  const { job } = await environment.loadJob(jobPath);
  const inputs = { configuration, arguments: options.words.slice(1), willRun: false };
  const prepared = prepareJob(job, inputs);
  const { jobName } = prepared.jobGraph;
  const jobId = (options.value('--job-id') as JobId | null) ?? jobIdOf(jobName);
  const { fileSystem, clock, workingDirectory } = environment;
  const io = { fileSystem, clock, random: seededRandom(clock.wallTime()), logger: silentLogger };
  const dataDirectory = dataDirectoryOf(configuration, environment);
  const seen = await new JobStore(io, dataDirectory).open(jobId).read();
  if (seen === null)
    throw new JobSubmissionError(
      `there is no run of job ${jobName} (${jobId}) in ${dataDirectory}; check WEIR_DATA_DIR, or ` +
        'give --job-id',
      { code: 'ARGUMENT_INVALID' },
    );
  await refuseRunning(seen.record, joinPath(dataDirectory, 'jobs', jobId), environment);
  const place = { configuration: prepared.configuration, dataDirectory, jobId };
  const snapshot = await snapshotToResume({ ...io, workingDirectory }, place, seen.record);
  const transactions = await PendingTransactions.open({
    environment: io,
    prepared,
    jobId,
    snapshot,
  });
  return { transactions, jobName, checkpointId: snapshot?.metadata.checkpointId ?? null };
}

async function refuseRunning(
  { owner, ended, jobName }: JobRecord,
  jobDirectory: string,
  environment: Environment,
): Promise<void> {
  if (ended !== null) return;
  const living = await environment.livingOwner?.(owner, jobDirectory);
  if (living === null || living === undefined) return;
  throw new JobSubmissionError(
    `job ${jobName} is running (${living}): it ends its transactions itself; stop it first`,
    { code: 'JOB_ALREADY_RUNNING' },
  );
}

function perform(
  action: TxAction,
  transactions: PendingTransactions,
  ids: readonly string[],
): Promise<readonly PendingTransaction[]> {
  switch (action) {
    case 'commit':
      return transactions.commit(ids);
    case 'abort':
      return transactions.abort(ids);
    case 'list':
    case 'explain':
      return transactions.list();
  }
}

function linesOf(
  action: TxAction,
  transactions: readonly PendingTransaction[],
  { jobName, checkpointId }: FoundJob,
): readonly string[] {
  const snapshot = checkpointId === null ? 'no checkpoint' : `checkpoint ${checkpointId}`;
  const count = transactions.length;
  const done = action === 'commit' ? 'committed' : action === 'abort' ? 'aborted' : 'listed';
  const head = `job ${jobName}, ${snapshot}: ${count} transaction(s) ${done}`;
  return [
    head,
    ...transactions.flatMap((transaction) => {
      const { sink, id, status, contents, isPromised } = transaction;
      const whose = isPromised ? `of ${snapshot}` : 'of no completed checkpoint';
      const holds = contents === null ? '' : `, ${contents}`;
      const line = `  ${sink}  ${id}  ${status}, ${whose}${holds}`;
      return action === 'explain' ? [line, `      ${fateOf(transaction)}`] : [line];
    }),
  ];
}

/** What will happen to it, and what may be done. */
function fateOf({ isPromised, status }: PendingTransaction): string {
  if (!isPromised)
    return 'the next start aborts it and reads its records again; until then it holds up readers';
  switch (status) {
    case 'committed':
      return 'its results are visible; the next start finds it committed';
    case 'pending':
      return 'the next start commits it, or weir tx commit does so now; it must not be aborted';
    default:
      return 'it cannot be committed any more: its results are lost, or nobody can tell';
  }
}
