/** `weir cancel`: ends a job; with `-s` after a savepoint, as Flink's client once did. */
import type { Environment } from '../environment.ts';
import type { ParsedOptions } from '../options.ts';
import { orFail } from './action.ts';
import { clientFor, jobIdOf } from './find-job.ts';
import { formatOf, targetDirectory } from './savepoint-options.ts';

export async function cancelCommand(
  options: ParsedOptions,
  environment: Environment,
): Promise<void> {
  const { terminal } = environment;
  const isWithSavepoint = options.has('--withSavepoint');
  // As with Flink, `-s JOBID` alone names the job, not a folder.
  const given = options.value('--withSavepoint');
  const [word] = options.words;
  const jobText = word ?? (given === '' ? undefined : (given ?? undefined));
  const jobId = jobIdOf(jobText, 'Missing JobID. Specify a JobID to cancel a job.');
  if (!isWithSavepoint) {
    terminal.print(`Cancelling job ${jobId}.`);
    await orFail(`Could not cancel job ${jobId}.`, async () => {
      const client = await clientFor(jobId, options, environment);
      await client.cancel(jobId);
    });
    terminal.print(`Cancelled job ${jobId}.`);
    return;
  }
  const directory = word === undefined ? null : targetDirectory(given, options, environment);
  const format = formatOf(options);
  terminal.print(
    'DEPRECATION WARNING: Cancelling a job with savepoint is deprecated. Use "stop" instead.',
  );
  const place = directory === null ? 'default savepoint directory' : directory;
  terminal.print(`Cancelling job ${jobId} with ${format} savepoint to ${place}.`);
  const path = await orFail(`Could not cancel job ${jobId}.`, async () => {
    const client = await clientFor(jobId, options, environment);
    const triggerId = await client.triggerSavepoint(jobId, directory, format, true);
    return client.savepoint(jobId, triggerId);
  });
  terminal.print(`Cancelled job ${jobId}. Savepoint stored in ${path}.`);
}
