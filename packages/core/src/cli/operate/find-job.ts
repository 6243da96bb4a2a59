/**
 * Where a job is operated: at the address behind `-m`, else at the one that the run of this data
 * folder has noted (`<data>/jobs/<job-id>/rest.json`).
 */
import { ConnectionLostError, JobSubmissionError } from '../../base/errors.ts';
import type { FileSystem } from '../../base/file-system.ts';
import { JOB_ID_PATTERN } from '../../base/ids.ts';
import { seededRandom } from '../../base/random.ts';
import type { RestClient } from '../../rest/rest-client.ts';
import type { JobRecord } from '../../storage/job-store.ts';
import { JobStore } from '../../storage/job-store.ts';
import { joinPath } from '../../storage/paths.ts';
import { dataDirectoryOf, readConfiguration } from '../configuration-layers.ts';
import type { Environment } from '../environment.ts';
import { usageError } from '../options.ts';
import type { ParsedOptions } from '../options.ts';

/** A job id as Flink's client takes it, in small letters. `missing`: what to say without one. */
export function jobIdOf(text: string | undefined, missing: string): string {
  if (text === undefined || text === '') throw usageError(missing);
  const id = text.toLowerCase();
  if (JOB_ID_PATTERN.test(id)) return id;
  throw usageError(
    `Cannot parse JobID from "${text}". The expected format is [0-9a-fA-F]{32}, ` +
      'e.g. fd72014d4c864993a2e5a9287b4a9c5d.',
  );
}

export async function dataDirectory(
  options: ParsedOptions,
  environment: Environment,
): Promise<string> {
  const configuration = await readConfiguration(environment, {
    file: options.value('--config'),
    properties: options.values('-D'),
  });
  return dataDirectoryOf(configuration, environment);
}

/** @throws when no run of the job is there to be operated, saying what is known of it. */
export async function clientFor(
  jobId: string,
  options: ParsedOptions,
  environment: Environment,
): Promise<RestClient> {
  const address = options.value('--jobmanager');
  if (address !== null) return environment.restClient(address);
  const data = await dataDirectory(options, environment);
  const noted = await notedAddress(environment.fileSystem, data, jobId);
  if (noted !== null) {
    const client = await environment.restClient(noted);
    // The note of a process that was killed stays; another may have its port by now.
    const jobs = await client.jobs().catch(() => []);
    if (jobs.some(({ jid }) => jid === jobId)) return client;
  }
  throw await notRunning(jobId, data, environment);
}

/** `host:port`; `null`: no run is noted. */
export async function notedAddress(
  fileSystem: FileSystem,
  data: string,
  jobId: string,
): Promise<string | null> {
  const path = joinPath(data, 'jobs', jobId, 'rest.json');
  if ((await fileSystem.stat(path)) === null) return null;
  try {
    const text = new TextDecoder().decode(await fileSystem.readFile(path));
    const { address } = JSON.parse(text) as { readonly address?: unknown };
    return typeof address === 'string' ? address : null;
  } catch {
    // It is being written, or the run ended between the two looks.
    return null;
  }
}

export async function recordOf(
  environment: Environment,
  data: string,
  jobId: string,
): Promise<JobRecord | null> {
  const entry = await storeOf(environment, data).open(jobId).read();
  return entry?.record ?? null;
}

export function storeOf({ fileSystem, clock }: Environment, data: string): JobStore {
  // Nothing is written, so nothing is drawn.
  return new JobStore({ fileSystem, clock, random: seededRandom(1) }, data);
}

async function notRunning(jobId: string, data: string, environment: Environment): Promise<Error> {
  const record = await recordOf(environment, data, jobId);
  if (record === null)
    return new JobSubmissionError(
      `there is no job ${jobId} in ${data}; weir list -a shows those that are, -m HOST:PORT ` +
        'asks elsewhere',
      { code: 'JOB_NOT_FOUND' },
    );
  const { jobName, ended } = record;
  const how =
    ended === null
      ? 'it was interrupted; the command that started it resumes it'
      : `it is ${ended.status}`;
  return new ConnectionLostError(`job ${jobName} (${jobId}) is not running: ${how}`);
}
