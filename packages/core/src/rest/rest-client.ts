/**
 * Asks a REST API, ours or Flink's, as Flink's own client does: under `/v1`, with a JSON body in
 * every request. Used by the commands that operate jobs.
 */
import { request as httpRequest } from 'node:http';
import { Buffer } from 'node:buffer';
import type { Clock } from '../base/clock.ts';
import { sleep } from '../base/clock.ts';
import { ConnectionLostError, JobSubmissionError, messageOf } from '../base/errors.ts';
import { maskValue } from '../base/mask-secrets.ts';
import type {
  AsyncOperationJson,
  FailureJson,
  JobOverviewJson,
  OperationJson,
  TriggeredJson,
} from './contract.ts';
import { RestError } from './rest-error.ts';

const FIRST_PAUSE_MS = 10;
const PAUSE_MAX_MS = 500;
const TIMEOUT_MS = 30_000;

export interface SavepointWanted {
  readonly directory: string | null;
}

export class RestClient {
  readonly #clock: Clock;
  readonly #base: URL;

  /**
   * `address`: `host:port`, or a URL with or without a path.
   * @throws JobSubmissionError ARGUMENT_INVALID when it is neither.
   */
  constructor(clock: Clock, address: string) {
    this.#clock = clock;
    const url = /^[a-z]+:\/\//i.test(address) ? address : `http://${address}`;
    if (!URL.canParse(url))
      throw new JobSubmissionError(
        `${JSON.stringify(maskValue(address))} is no address; give HOST:PORT, or a URL`,
        { code: 'ARGUMENT_INVALID' },
      );
    this.#base = new URL(url);
  }

  get address(): string {
    return this.#base.host;
  }

  async jobs(): Promise<readonly JobOverviewJson[]> {
    const { jobs } = (await this.#send('GET', '/jobs/overview')) as {
      readonly jobs: readonly JobOverviewJson[];
    };
    return jobs;
  }

  async cancel(jobId: string): Promise<void> {
    await this.#send('PATCH', `/jobs/${jobId}?mode=cancel`);
  }

  /** The trigger id. */
  triggerSavepoint(
    jobId: string,
    directory: string | null,
    formatType: string,
    cancelJob = false,
  ): Promise<string> {
    return this.#trigger(`/jobs/${jobId}/savepoints`, {
      'target-directory': directory,
      'cancel-job': cancelJob,
      formatType,
      triggerId: null,
    });
  }

  /** The trigger id. */
  triggerStop(
    jobId: string,
    {
      directory,
      drain,
      formatType,
    }: SavepointWanted & {
      readonly drain: boolean;
      readonly formatType: string;
    },
  ): Promise<string> {
    const body = { targetDirectory: directory, drain, formatType, triggerId: null };
    return this.#trigger(`/jobs/${jobId}/stop`, body);
  }

  /** The path. */
  async savepoint(jobId: string, triggerId: string): Promise<string> {
    const operation = await this.#completed(`/jobs/${jobId}/savepoints/${triggerId}`);
    if ('location' in operation) return operation.location;
    throw failure(operation);
  }

  /** The id of the checkpoint. */
  async checkpoint(jobId: string, checkpointType: 'CONFIGURED' | 'FULL'): Promise<number> {
    const path = `/jobs/${jobId}/checkpoints`;
    const triggerId = await this.#trigger(path, { checkpointType, triggerId: null });
    const operation = await this.#completed(`${path}/${triggerId}`);
    if ('checkpointId' in operation) return operation.checkpointId;
    throw failure(operation);
  }

  async dispose(savepointPath: string): Promise<void> {
    const triggerId = await this.#trigger('/savepoint-disposal', {
      'savepoint-path': savepointPath,
    });
    const operation = await this.#completed(`/savepoint-disposal/${triggerId}`);
    if ('failure-cause' in operation) throw failure(operation);
  }

  async #trigger(path: string, body: object): Promise<string> {
    const triggered = (await this.#send('POST', path, body)) as TriggeredJson;
    return triggered['request-id'];
  }

  async #completed(path: string): Promise<OperationJson> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)) {
      const { status, operation } = (await this.#send('GET', path)) as AsyncOperationJson;
      if (status.id === 'COMPLETED') return operation ?? {};
      await sleep(this.#clock, pauseMs, 'operation-poll');
    }
  }

  async #send(method: string, path: string, body: object = {}): Promise<unknown> {
    const prefix = this.#base.pathname.replace(/\/$/, '');
    const url = new URL(`${prefix}/v1${path}`, this.#base);
    const { status, text } = await exchange(url, method, JSON.stringify(body)).catch(
      (error: unknown) => {
        throw new ConnectionLostError(
          `${this.address} does not answer: ${messageOf(error)}; is the job still running there?`,
          { cause: error },
        );
      },
    );
    const answer = parse(text, this.address);
    const { errors } = answer as { readonly errors?: readonly string[] };
    if (status >= 200 && status < 300 && errors === undefined) return answer;
    throw new RestError(status, errors?.join('\n') ?? `HTTP status ${status}`);
  }
}

function exchange(
  url: URL,
  method: string,
  body: string,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      url,
      {
        method,
        agent: false,
        timeout: TIMEOUT_MS,
        headers: {
          'Content-Type': 'application/json; charset=UTF-8',
          'Content-Length': Buffer.byteLength(body),
          Connection: 'close',
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            text: Buffer.concat(chunks).toString('utf8'),
          }),
        );
      },
    );
    request.on('timeout', () => request.destroy(new Error(`no answer in ${TIMEOUT_MS / 1000} s`)));
    request.on('error', reject);
    request.end(body);
  });
}

function parse(text: string, address: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Said below.
  }
  throw new ConnectionLostError(`what answers at ${address} is no REST API of Weir or Flink`);
}

function failure(operation: OperationJson): Error {
  const { 'failure-cause': one, failureCause: other } = operation as {
    readonly 'failure-cause'?: FailureJson;
    readonly failureCause?: FailureJson;
  };
  return new RestError(200, (one ?? other)?.['stack-trace'] ?? 'no reason is given');
}
