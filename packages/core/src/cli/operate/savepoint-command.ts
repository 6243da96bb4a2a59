/** `weir savepoint`: takes a savepoint of a running job, or removes one. */
import { disposeSavepoint } from '../../storage/dispose-savepoint.ts';
import type { Environment } from '../environment.ts';
import { usageError } from '../options.ts';
import type { ParsedOptions } from '../options.ts';
import { orFail } from './action.ts';
import { clientFor, jobIdOf } from './find-job.ts';
import { formatOf, targetDirectory } from './savepoint-options.ts';

export async function savepointCommand(
  options: ParsedOptions,
  environment: Environment,
): Promise<void> {
  const path = options.value('--dispose');
  if (path !== null) return dispose(path, options, environment);
  const { terminal } = environment;
  const [jobText, directoryText, ...more] = options.words;
  const missing = 'Missing JobID. Specify a Job ID to trigger a savepoint.';
  const jobId = jobIdOf(jobText, missing);
  if (more.length > 0) throw usageError(`one folder at a time; what is "${more.join(' ')}"?`);
  const format = formatOf(options);
  const directory = targetDirectory(directoryText, options, environment);
  const isDetached = options.has('--detached');
  terminal.print(
    isDetached
      ? `Triggering savepoint in detached mode for job ${jobId}.`
      : `Triggering savepoint for job ${jobId}.`,
  );
  if (!isDetached) terminal.print('Waiting for response...');
  await orFail(`Failed to trigger a savepoint for the job ${jobId}.`, async () => {
    const client = await clientFor(jobId, options, environment);
    const triggerId = await client.triggerSavepoint(jobId, directory, format);
    if (isDetached) {
      terminal.print(`Successfully trigger manual savepoint, triggerId: ${triggerId}`);
      return;
    }
    terminal.print(`Savepoint completed. Path: ${await client.savepoint(jobId, triggerId)}`);
    terminal.print('You can resume your program from this savepoint with the run command.');
  });
}

async function dispose(
  path: string,
  options: ParsedOptions,
  environment: Environment,
): Promise<void> {
  const { terminal, workingDirectory } = environment;
  terminal.print(`Disposing savepoint '${path}'.`);
  terminal.print('Waiting for response...');
  await orFail(`Failed to dispose the savepoint '${path}'.`, async () => {
    const address = options.value('--jobmanager');
    if (address !== null) return (await environment.restClient(address)).dispose(path);
    const foreign = await disposeSavepoint(environment, path, workingDirectory);
    for (const left of foreign) terminal.warn(`not deleted, since Weir did not write it: ${left}`);
  });
  terminal.print(`Savepoint '${path}' disposed.`);
}
