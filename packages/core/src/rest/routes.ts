/**
 * What the REST API answers, route by route, as pure as it can be: a request in, a status and JSON
 * out. How requests come in is `rest-server.ts`. Errors are `RestError`s; their texts are Flink's
 * where tools look for them.
 */
import { savepointDirectory } from '../jobmanager/savepoint-directory.ts';
import type { JobMaster } from '../jobmanager/job-master.ts';
import { isWeirError, messageOf } from '../base/errors.ts';
import { JOB_ID_PATTERN } from '../base/ids.ts';
import type { AsyncOperations } from './async-operations.ts';
import { checkpointFailure } from './async-operations.ts';
import {
  checkpointConfigView,
  checkpointsView,
  checkpointView,
  pathView,
} from './checkpoint-view.ts';
import type { ClusterOverviewJson, OperationJson, TriggeredJson } from './contract.ts';
import { isTerminal, jobDetails, jobOverview, planView } from './job-view.ts';
import { metricsView } from './metrics-view.ts';
import { RestError } from './rest-error.ts';

/** What the API shows and operates. */
export interface RestBackend {
  readonly version: string;
  readonly operations: AsyncOperations;
  /** Where relative paths of savepoints begin. */
  readonly workingDirectory: string;
  /** `filesystem` or `jobmanager`. */
  readonly checkpointStorage: string;
  jobs(): readonly JobMaster[];
  wallTime(): number;
  /** Removes a savepoint for good. */
  disposeSavepoint(path: string): Promise<void>;
}

export interface RestRequest {
  readonly method: string;
  /** Without the query, and without `/v1`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface RestAnswer {
  readonly status: number;
  readonly body: unknown;
}

type Handler = (
  backend: RestBackend,
  parameters: Readonly<Record<string, string>>,
  request: RestRequest,
) => RestAnswer;

/** The release of Flink whose API this is; clients choose their requests by it. */
const FLINK_VERSION = '2.2.0';
const ID = /^[0-9a-fA-F]{32}$/;

/** The first that fits answers, so what is fixed stands before what is variable. */
const ROUTES: readonly (readonly [string, string, Handler])[] = [
  ['GET', '/config', config],
  ['GET', '/overview', overview],
  ['GET', '/jobs', jobIds],
  [
    'GET',
    '/jobs/overview',
    (backend) => ok({ jobs: backend.jobs().map((job) => jobOverview(job, backend.wallTime())) }),
  ],
  [
    'GET',
    '/jobs/:jobid',
    (backend, { jobid }) => ok(jobDetails(jobOf(backend, jobid), backend.wallTime())),
  ],
  ['PATCH', '/jobs/:jobid', cancel],
  ['GET', '/jobs/:jobid/yarn-cancel', cancel],
  [
    'GET',
    '/jobs/:jobid/status',
    (backend, { jobid }) => ok({ status: jobOf(backend, jobid).status }),
  ],
  ['GET', '/jobs/:jobid/plan', plan],
  ['GET', '/jobs/:jobid/metrics', metrics],
  ['GET', '/jobs/:jobid/checkpoints', checkpoints],
  ['POST', '/jobs/:jobid/checkpoints', triggerCheckpoint],
  ['GET', '/jobs/:jobid/checkpoints/config', checkpointConfig],
  ['GET', '/jobs/:jobid/checkpoints/details/:checkpointid', checkpointDetails],
  ['GET', '/jobs/:jobid/checkpoints/:triggerid', pollCheckpoint],
  ['POST', '/jobs/:jobid/savepoints', triggerSavepoint],
  ['GET', '/jobs/:jobid/savepoints/:triggerid', pollSavepoint],
  ['POST', '/jobs/:jobid/stop', stop],
  ['POST', '/savepoint-disposal', dispose],
  ['GET', '/savepoint-disposal/:triggerid', pollDisposal],
];

/** @throws RestError when there is no such route or the request is wrong. */
export function answer(backend: RestBackend, request: RestRequest): RestAnswer {
  for (const [method, pattern, handle] of ROUTES) {
    const parameters = method === request.method ? match(pattern, request.path) : null;
    if (parameters !== null) return handle(backend, parameters, request);
  }
  throw new RestError(404, `Not found: ${request.path}`);
}

function match(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return null;
  const parameters: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const text = given[index] ?? '';
    if (part.startsWith(':')) parameters[part.slice(1)] = text;
    else if (part !== text) return null;
  }
  return parameters;
}

// ─── Cluster ───

function config(backend: RestBackend): RestAnswer {
  return ok({
    'refresh-interval': 3000,
    'timezone-name': 'Coordinated Universal Time',
    'timezone-offset': 0,
    'flink-version': FLINK_VERSION,
    'flink-revision': 'weir @ 1970-01-01T00:00:00Z',
    features: {
      'web-submit': false,
      'web-cancel': true,
      'web-rescale': false,
      'web-history': false,
    },
    'x-weir-version': backend.version,
  });
}

function overview(backend: RestBackend): RestAnswer {
  const statuses = backend.jobs().map((job) => job.status);
  const count = (...wanted: readonly string[]): number =>
    statuses.filter((status) => wanted.includes(status)).length;
  const slots = backend.jobs().reduce((sum, job) => sum + job.slotCount, 0);
  const body: ClusterOverviewJson = {
    taskmanagers: 1,
    'slots-total': slots,
    'slots-available': 0,
    'jobs-running': statuses.filter((status) => !isTerminal(status)).length,
    'jobs-finished': count('FINISHED'),
    'jobs-cancelled': count('CANCELED'),
    'jobs-failed': count('FAILED'),
    'flink-version': FLINK_VERSION,
    'flink-commit': 'weir',
    'x-weir-version': backend.version,
  };
  return ok(body);
}

function jobIds(backend: RestBackend): RestAnswer {
  return ok({ jobs: backend.jobs().map(({ jobId, status }) => ({ id: jobId, status })) });
}

// ─── Job ───

function jobOf(backend: RestBackend, text = '', missing?: string): JobMaster {
  const id = idOf(text, 'jobid');
  const job = backend.jobs().find(({ jobId }) => jobId === id);
  if (job === undefined) throw new RestError(404, missing ?? `Job ${id} not found`);
  return job;
}

function plan(backend: RestBackend, { jobid }: Readonly<Record<string, string>>): RestAnswer {
  const { jobId, jobGraph } = jobOf(backend, jobid);
  return ok({ plan: planView(jobId, jobGraph) });
}

function metrics(
  backend: RestBackend,
  { jobid }: Readonly<Record<string, string>>,
  { query }: RestRequest,
): RestAnswer {
  const names = query.get('get')?.split(',') ?? null;
  return ok(metricsView(jobOf(backend, jobid).history.tasks, names));
}

function cancel(
  backend: RestBackend,
  { jobid }: Readonly<Record<string, string>>,
  { query }: RestRequest,
): RestAnswer {
  const job = jobOf(backend, jobid, 'Job could not be found.');
  const mode = (query.get('mode') ?? 'cancel').toLowerCase();
  if (mode === 'stop')
    throw new RestError(
      308,
      'The termination mode "stop" is gone: stop with a savepoint, by POST /jobs/:jobid/stop.',
    );
  if (mode !== 'cancel') throw badParameters(`mode: ${mode} is not cancel`);
  if (isTerminal(job.status))
    throw new RestError(
      409,
      'Job cancellation failed because the job has already reached another terminal state ' +
        `(${job.status}).`,
    );
  job.cancel();
  return { status: 202, body: {} };
}

// ─── Checkpoints ───

function checkpoints(
  backend: RestBackend,
  { jobid }: Readonly<Record<string, string>>,
): RestAnswer {
  return ok(checkpointsView(checkpointing(backend, jobid).statistics));
}

function checkpointConfig(
  backend: RestBackend,
  { jobid }: Readonly<Record<string, string>>,
): RestAnswer {
  const job = checkpointing(backend, jobid);
  return ok(checkpointConfigView(job.checkpointing, backend.checkpointStorage));
}

function checkpointDetails(
  backend: RestBackend,
  { jobid, checkpointid = '' }: Readonly<Record<string, string>>,
): RestAnswer {
  const { statistics } = jobOf(backend, jobid);
  if (!/^\d+$/.test(checkpointid)) throw badParameters(`checkpointid: ${checkpointid}`);
  const id = Number(checkpointid);
  const facts = statistics.summary().history.find((it) => it.checkpointId === id);
  if (facts === undefined) throw new RestError(404, `Could not find checkpoint with id ${id}.`);
  return ok(checkpointView(facts, true));
}

/** Flink knows no checkpoints of a job that has none periodically; tools look for the text. */
function checkpointing(backend: RestBackend, jobid: string | undefined): JobMaster {
  const job = jobOf(backend, jobid);
  if (job.checkpointing.intervalMs !== null || job.statistics.summary().counts.total > 0)
    return job;
  throw new RestError(404, 'Checkpointing has not been enabled.');
}

// ─── Operations ───

function triggerCheckpoint(
  backend: RestBackend,
  { jobid }: Readonly<Record<string, string>>,
  { body }: RestRequest,
): RestAnswer {
  const job = jobOf(backend, jobid);
  oneOf(body, 'checkpointType', ['CONFIGURED', 'FULL', 'INCREMENTAL']);
  const work = async (): Promise<OperationJson> => {
    const { checkpointId } = await job.triggerCheckpoint();
    return { checkpointId };
  };
  const scope = `checkpoint ${job.jobId}`;
  const id = backend.operations.trigger(scope, triggerIdOf(body), work, checkpointFailure);
  return accepted(id);
}

function pollCheckpoint(
  backend: RestBackend,
  { jobid, triggerid = '' }: Readonly<Record<string, string>>,
): RestAnswer {
  const { jobId } = jobOf(backend, jobid);
  return polled(backend, { what: 'checkpoint', jobId, triggerId: triggerid });
}

function triggerSavepoint(
  backend: RestBackend,
  { jobid }: Readonly<Record<string, string>>,
  { body }: RestRequest,
): RestAnswer {
  const job = jobOf(backend, jobid);
  oneOf(body, 'formatType', ['CANONICAL', 'NATIVE']);
  const directory = textOf(body, 'target-directory');
  requireDirectory(backend, job, directory, 'target-directory');
  const isCancelled = flagOf(body, 'cancel-job');
  return savepointTriggered(backend, job, body, async () => {
    const savepoint = await job.triggerSavepoint(directory);
    if (isCancelled) job.cancel();
    return savepoint.directory;
  });
}

function stop(
  backend: RestBackend,
  { jobid }: Readonly<Record<string, string>>,
  { body }: RestRequest,
): RestAnswer {
  const job = jobOf(backend, jobid);
  oneOf(body, 'formatType', ['CANONICAL', 'NATIVE']);
  const directory = textOf(body, 'targetDirectory');
  requireDirectory(backend, job, directory, 'targetDirectory');
  const mode = flagOf(body, 'drain') ? 'drain' : 'suspend';
  return savepointTriggered(backend, job, body, async () => {
    const savepoint = await job.stopWithSavepoint(mode, directory);
    return savepoint.directory;
  });
}

function savepointTriggered(
  { operations }: RestBackend,
  { jobId }: JobMaster,
  body: RestRequest['body'],
  take: () => Promise<string>,
): RestAnswer {
  const work = async (): Promise<OperationJson> => ({ location: pathView(await take()) });
  return accepted(operations.trigger(`savepoint ${jobId}`, triggerIdOf(body), work));
}

function pollSavepoint(
  backend: RestBackend,
  { jobid, triggerid = '' }: Readonly<Record<string, string>>,
): RestAnswer {
  const { jobId } = jobOf(backend, jobid);
  return polled(backend, { what: 'savepoint', jobId, triggerId: triggerid });
}

function dispose(
  backend: RestBackend,
  _: Readonly<Record<string, string>>,
  { body }: RestRequest,
): RestAnswer {
  const path = textOf(body, 'savepoint-path');
  if (path === null)
    throw new RestError(400, 'Request did not match expected format SavepointDisposalRequest.');
  const work = async (): Promise<OperationJson> => {
    await backend.disposeSavepoint(path);
    return {};
  };
  // Flink answers 200 here, not 202.
  return ok({ 'request-id': backend.operations.trigger('disposal', triggerIdOf(body), work) });
}

function pollDisposal(
  backend: RestBackend,
  { triggerid = '' }: Readonly<Record<string, string>>,
): RestAnswer {
  const operation = backend.operations.poll('disposal', idOf(triggerid, 'triggerid'));
  if (operation !== null) return ok(operation);
  throw new RestError(404, `There is no savepoint operation with triggerId=${triggerid}.`);
}

interface Asked {
  readonly what: 'checkpoint' | 'savepoint';
  readonly jobId: string;
  readonly triggerId: string;
}

function polled({ operations }: RestBackend, { what, jobId, triggerId }: Asked): RestAnswer {
  const operation = operations.poll(`${what} ${jobId}`, idOf(triggerId, 'triggerid'));
  if (operation !== null) return ok(operation);
  const text = `There is no ${what} operation with triggerId=${triggerId} for job ${jobId}.`;
  throw new RestError(404, text);
}

function requireDirectory(
  { workingDirectory }: RestBackend,
  job: JobMaster,
  directory: string | null,
  property: string,
): void {
  if (directory === null && job.savepointDirectory === null)
    throw new RestError(
      400,
      'Config key [execution.checkpointing.savepoint-dir] is not set. ' +
        `Property [${property}] must be provided.`,
    );
  try {
    savepointDirectory(directory, job.savepointDirectory, workingDirectory);
  } catch (error) {
    throw isWeirError(error) ? new RestError(400, messageOf(error)) : error;
  }
}

// ─── Requests ───

function ok(body: unknown): RestAnswer {
  return { status: 200, body };
}

function accepted(triggerId: string): RestAnswer {
  const body: TriggeredJson = { 'request-id': triggerId };
  return { status: 202, body };
}

function idOf(text: string, name: string): string {
  if (ID.test(text) && JOB_ID_PATTERN.test(text.toLowerCase())) return text.toLowerCase();
  throw badParameters(`${name}: "${text}" has not the format [0-9a-fA-F]{32}`);
}

function triggerIdOf(body: RestRequest['body']): string | null {
  const text = textOf(body, 'triggerId');
  return text === null ? null : idOf(text, 'triggerId');
}

function textOf(body: RestRequest['body'], name: string): string | null {
  const value = body[name] ?? null;
  if (value === null || value === '') return null;
  if (typeof value === 'string') return value;
  throw wrongBody(name, 'a text');
}

function flagOf(body: RestRequest['body'], name: string): boolean {
  const value = body[name] ?? false;
  if (typeof value === 'boolean') return value;
  throw wrongBody(name, 'true or false');
}

function oneOf(body: RestRequest['body'], name: string, allowed: readonly string[]): void {
  const value = textOf(body, name);
  if (value !== null && !allowed.includes(value)) throw wrongBody(name, allowed.join(' or '));
}

function wrongBody(name: string, allowed: string): RestError {
  return new RestError(400, `Request did not match expected format: ${name} must be ${allowed}.`);
}

function badParameters(text: string): RestError {
  return new RestError(400, `Bad request, could not parse parameters: ${text}`);
}
