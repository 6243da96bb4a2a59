/**
 * Where a job is operated: at the address behind `-m`, else at the one that the run of this data
 * folder has noted (`<data>/jobs/<job-id>/rest.json`).
 */
import { sleep } from '../../base/clock.ts';
import { ConnectionLostError, JobSubmissionError } from '../../base/errors.ts';
import type { FileSystem } from '../../base/file-system.ts';
import { JOB_ID_PATTERN } from '../../base/ids.ts';
import { seededRandom } from '../../base/random.ts';
import type { JobOverviewJson } from '../../rest/contract.ts';
import type { RestClient } from '../../rest/rest-client.ts';
import type { JobRecord } from '../../storage/job-store.ts';
import { JobStore } from '../../storage/job-store.ts';
import { joinPath } from '../../storage/paths.ts';
import { dataDirectoryOf, readConfiguration } from '../configuration-layers.ts';
import type { Environment } from '../environment.ts';
import { usageError } from '../options.ts';
import type { ParsedOptions } from '../options.ts';

/** A run that began so long ago at most is perhaps about to open its API. */
const STARTING_MS = 10_000;
const LOOK_EVERY_MS = 100;

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
  const found = await apiOf(jobId, data, environment);
  if (found !== null && found !== 'silent') return found.client;
  throw found === null ? await notRunning(jobId, data, environment) : silentError(jobId);
}

export interface RunningApi {
  readonly client: RestClient;
  readonly overview: JobOverviewJson;
}

/**
 * The API of the run that leads a job now. A run that has just begun is waited for. `silent`: it
 * lives and answers nothing; `null`: there is none.
 */
export async function apiOf(
  jobId: string,
  data: string,
  environment: Environment,
): Promise<RunningApi | 'silent' | null> {
  const { clock } = environment;
  for (;;) {
    const answering = await answeringApi(jobId, data, environment);
    if (answering !== null) return answering;
    const record = await recordOf(environment, data, jobId);
    if (record === null || record.ended !== null) return null;
    const directory = joinPath(data, 'jobs', jobId);
    const living = await environment.livingOwner?.(record.owner, directory);
    if (living === null || living === undefined) return null;
    const startedAt = record.owner?.startedAt ?? 0;
    if (clock.wallTime() - startedAt > STARTING_MS) return 'silent';
    await sleep(clock, LOOK_EVERY_MS, 'api');
  }
}

async function answeringApi(
  jobId: string,
  data: string,
  environment: Environment,
): Promise<RunningApi | null> {
  const noted = await notedAddress(environment.fileSystem, data, jobId);
  if (noted === null) return null;
  const client = await environment.restClient(noted);
  // The note of a process that was killed stays; another may have its port by now.
  const jobs = await client.jobs().catch(() => []);
  const overview = jobs.find(({ jid }) => jid === jobId);
  return overview === undefined ? null : { client, overview };
}

function silentError(jobId: string): Error {
  return new ConnectionLostError(
    `job ${jobId} is running, but its REST API does not answer: it was perhaps started with ` +
      '--no-rest; Ctrl-C or SIGTERM stops it, and it can be resumed',
  );
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
  const savepoint = ended?.savepoint ?? null;
  const stopped = savepoint === null ? '' : `, stopped with the savepoint ${savepoint}`;
  const how =
    ended === null
      ? 'it was interrupted; the command that started it resumes it'
      : `it is ${ended.status}${stopped}`;
  return new ConnectionLostError(`job ${jobName} (${jobId}) is not running: ${how}`);
}
