/**
 * The arguments of a run as its record keeps them. Whoever may read the data folder reads the
 * record, so secrets are masked in it; a slow digest of all arguments as given tells whether those
 * of a later start are the same. Cost: some 50 ms, only for arguments that hold a secret.
 */
import { scryptSync } from 'node:crypto';
import { maskArguments } from '../base/mask-secrets.ts';
import type { JobRecord } from '../storage/job-store.ts';

export type RecordedArguments = Pick<JobRecord, 'arguments' | 'argumentsDigest'>;

export function recordedArguments(given: readonly string[], jobId: string): RecordedArguments {
  const masked = maskArguments(given);
  if (isSame(masked, given)) return { arguments: given };
  const digest = scryptSync(JSON.stringify(given), `weir job ${jobId}`, 32).toString('hex');
  return { arguments: masked, argumentsDigest: digest };
}

export function sameArguments(
  recorded: RecordedArguments,
  given: readonly string[],
  jobId: string,
): boolean {
  // Also the record of an older version, which kept all as it was given.
  if (recorded.argumentsDigest === undefined) return isSame(recorded.arguments, given);
  const now = recordedArguments(given, jobId);
  return (
    isSame(recorded.arguments, now.arguments) && recorded.argumentsDigest === now.argumentsDigest
  );
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((argument, index) => argument === b[index]);
}
