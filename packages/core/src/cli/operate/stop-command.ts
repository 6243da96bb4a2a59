/** `weir stop`: ends a job with a savepoint, from which it can go on. */
import type { Environment } from '../environment.ts';
import type { ParsedOptions } from '../options.ts';
import { orFail } from './action.ts';
import { clientFor, jobIdOf } from './find-job.ts';
import { formatOf, targetDirectory } from './savepoint-options.ts';

export async function stopCommand(options: ParsedOptions, environment: Environment): Promise<void> {
  const { terminal } = environment;
  const given = options.value('--savepointPath');
  const [word] = options.words;
  // As with Flink, `-p JOBID` alone names the job, and then also the folder.
  const jobId = jobIdOf(word ?? given ?? undefined, 'Missing JobId');
  const format = formatOf(options);
  const directory = targetDirectory(word === undefined ? null : given, options, environment);
  const drain = options.has('--drain');
  const isDetached = options.has('--detached');
  const verb = drain ? 'Draining' : 'Suspending';
  terminal.print(`${verb} job "${jobId}" with a ${format} savepoint.`);
  terminal.print(
    isDetached
      ? `Triggering stop-with-savepoint in detached mode for job ${jobId}.`
      : `Triggering stop-with-savepoint for job ${jobId}.`,
  );
  if (!isDetached) terminal.print('Waiting for response...');
  await orFail(`Could not stop with a savepoint job "${jobId}".`, async () => {
    const client = await clientFor(jobId, options, environment);
    const wanted = { directory, drain, formatType: format };
    const triggerId = await client.triggerStop(jobId, wanted);
    if (isDetached)
      terminal.print(
        `Successfully trigger stop-with-savepoint in detached mode, triggerId: ${triggerId}`,
      );
    else terminal.print(`Savepoint completed. Path: ${await client.savepoint(jobId, triggerId)}`);
  });
}
