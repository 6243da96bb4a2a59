/**
 * Sends the results of a batch in requests, one after another. The key of a request is made of the
 * batch and the place in it, and how many results it holds was settled when they were kept, so that
 * whoever sends it again sends the same body under the same key, also with another `batchSize`.
 *
 * - 2xx: taken.
 * - 408, 425, 429, 5xx, a broken connection, no answer in time: sent again with growing delays, as
 *   long as `retryForMs`; `retry-after` is kept to, also where it is longer. What a time-out did is
 *   not known, which is what the key is for.
 * - other answers: rejected, which no retry mends.
 */
import type { ConnectorEnvironment } from '../../api/source.ts';
import { StorageUnavailableError, WeirError } from '../../base/errors.ts';
import { makeDirectoryDurably, writeFileDurably } from '../../storage/durable-file.ts';
import { joinPath } from '../../storage/paths.ts';
import type { ConnectionTrouble } from '../connection-trouble.ts';
import { Retries } from '../retries.ts';
import type { WriteAheadLogOutput } from '../write-ahead-log-sink.ts';
import { batchName } from '../write-ahead-log/checkpoint-committer.ts';
import type { LoggedBatch } from '../write-ahead-log/checkpoint-committer.ts';
import { HttpClient } from './http-client.ts';
import type { HttpAnswer } from './http-client.ts';

export interface HttpOutputOptions {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly keyHeader: string;
  readonly timeoutMs: number;
  readonly retryForMs: number;
  /** `null`: a rejected request ends the job. */
  readonly deadLetterFolder: string | null;
}

/** A result, and how many go into a request: as it was when the result was kept. */
export interface HttpLine {
  readonly line: string;
  readonly batchSize: number;
}

const RETRY_DELAY_MS = 100;
const RETRY_DELAY_MAX_MS = 5000;
const EXCERPT_LENGTH = 200;

export class HttpOutput implements WriteAheadLogOutput<HttpLine> {
  readonly #environment: ConnectorEnvironment;
  readonly #options: HttpOutputOptions;
  readonly #client: HttpClient;
  readonly #retries: Retries;

  constructor(environment: ConnectorEnvironment, options: HttpOutputOptions) {
    this.#environment = environment;
    this.#options = options;
    this.#client = new HttpClient(environment.clock, options.url, options.timeoutMs);
    this.#retries = new Retries(environment, {
      name: 'httpSink',
      retryForMs: options.retryForMs,
      firstDelayMs: RETRY_DELAY_MS,
      maxDelayMs: RETRY_DELAY_MAX_MS,
    });
    this.#retries.cut.addEventListener('abort', () => this.#client.close(), { once: true });
  }

  async send(values: readonly HttpLine[], batch: LoggedBatch): Promise<void> {
    const batchSize = values[0]?.batchSize ?? 1;
    for (let from = 0; from < values.length; from += batchSize) {
      const lines = values.slice(from, from + batchSize).map(({ line }) => line);
      const key = `${batch.jobId.slice(0, 12)}-${batchName(batch)}-${from / batchSize}`;
      const answer = await this.#sendOne(key, `${lines.join('\n')}\n`);
      if (answer !== null) await this.#rejected(key, lines, answer);
    }
  }

  close(): Promise<void> {
    this.#retries.close();
    this.#client.close();
    return Promise.resolve();
  }

  /** `null`: taken; otherwise the answer that rejects it. */
  #sendOne(key: string, body: string): Promise<HttpAnswer | null> {
    const { url, method, headers, keyHeader } = this.#options;
    const request = { method, headers: { ...headers, [keyHeader]: key }, body };
    return this.#retries.run(
      async () => {
        const answer = await this.#client.request(request);
        if ('text' in answer) throw unanswered(url, answer);
        const { status, retryAfterMs } = answer;
        if (status >= 200 && status < 300) return null;
        if (isRetriable(status)) throw new NotTaken(url, `it answers ${status}`, retryAfterMs);
        return answer;
      },
      (error) => (error instanceof NotTaken ? error.retryAfterMs : 0),
    );
  }

  async #rejected(key: string, lines: readonly string[], answer: HttpAnswer): Promise<void> {
    const { deadLetterFolder: folder, url } = this.#options;
    const excerpt = answer.body.slice(0, EXCERPT_LENGTH);
    if (folder === null)
      throw new WeirError(
        'user',
        `httpSink: ${url.origin}${url.pathname} rejects ${lines.length} result(s) with ` +
          `${answer.status}${excerpt === '' ? '' : `: ${JSON.stringify(excerpt)}`}; mend the ` +
          'request or the receiver, or keep such results with onRejected: { deadLetter }',
        { code: 'SINK_REFUSED', details: { status: answer.status, key } },
      );
    const { fileSystem, logger } = this.#environment;
    await makeDirectoryDurably(fileSystem, folder);
    const name = `rejected-${key}.ndjson`;
    const unfinished = joinPath(folder, `.${name}`);
    const text = lines.map((line) =>
      JSON.stringify({ key, status: answer.status, reason: excerpt, line }),
    );
    await writeFileDurably(fileSystem, unfinished, Buffer.from(`${text.join('\n')}\n`));
    // The same name whenever it is sent again: nothing stands there twice.
    await fileSystem.rename(unfinished, joinPath(folder, name));
    await fileSystem.syncDirectory(folder);
    const message = `httpSink: ${lines.length} result(s) were rejected with ${answer.status}`;
    logger.log('warn', `${message} and are in ${joinPath(folder, name)}`, { key });
  }
}

/** A certificate that is refused, say, is so the next time. */
function unanswered(url: URL, { text, isFinal }: ConnectionTrouble): Error {
  if (!isFinal) return new NotTaken(url, text, 0);
  return new WeirError(
    'user',
    `httpSink: ${url.origin} cannot be connected to: ${text}. Certificates of your own are read ` +
      'from the file that the environment variable NODE_EXTRA_CA_CERTS names',
    { code: 'SINK_REFUSED' },
  );
}

/** A request that may be taken when it is sent again. */
class NotTaken extends StorageUnavailableError {
  readonly retryAfterMs: number;

  constructor(url: URL, reason: string, retryAfterMs: number) {
    const message = `${url.origin}${url.pathname} takes nothing: ${reason}`;
    super(message, { code: 'SINK_UNAVAILABLE' });
    this.retryAfterMs = retryAfterMs;
  }
}

function isRetriable(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429;
}
