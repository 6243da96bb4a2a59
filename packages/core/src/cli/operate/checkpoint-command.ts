/** `weir checkpoint`: takes a checkpoint of a running job now. */
import type { Environment } from '../environment.ts';
import type { ParsedOptions } from '../options.ts';
import { orFail } from './action.ts';
import { clientFor, jobIdOf } from './find-job.ts';

export async function checkpointCommand(
  options: ParsedOptions,
  environment: Environment,
): Promise<void> {
  const { terminal } = environment;
  const missing = 'Missing JobID. Specify a Job ID to manipulate a checkpoint.';
  const jobId = jobIdOf(options.words[0], missing);
  const isFull = options.has('--full');
  terminal.print(`Triggering checkpoint for job ${jobId}.`);
  terminal.print('Waiting for response...');
  const id = await orFail(`Failed to trigger a checkpoint for the job ${jobId}.`, async () => {
    const client = await clientFor(jobId, options, environment);
    return client.checkpoint(jobId, isFull ? 'FULL' : 'CONFIGURED');
  });
  const what = isFull ? 'Checkpoint(FULL)' : 'Checkpoint';
  terminal.print(`${what} ${id} for job ${jobId} completed.`);
  terminal.print('You can resume your program from this checkpoint with the run command.');
}
