/**
 * `httpSink`: posts results to a web address, for webhooks and services that take events. Built on
 * the write-ahead log: results are kept with the checkpoint and are sent when it is complete, in
 * requests that carry an idempotency key. A request of the same key has the same body, whichever
 * process sends it.
 */
import type { CommitterContext } from '../api/sink.ts';
import { ConfigurationError } from '../base/errors.ts';
import { maskValue } from '../base/mask-secrets.ts';
import { checkPositive, checkWhole } from './check-options.ts';
import type { Format } from './formats/format.ts';
import { ndjson } from './formats/ndjson.ts';
import { HttpOutput } from './http/http-output.ts';
import type { HttpLine, HttpOutputOptions } from './http/http-output.ts';
import { resolveUserPath } from './user-path.ts';
import { WriteAheadLogSink } from './write-ahead-log-sink.ts';
import type { WriteAheadLogTarget } from './write-ahead-log-sink.ts';
import type { CheckpointCommitter } from './write-ahead-log/checkpoint-committer.ts';
import { fileCheckpointCommitter } from './write-ahead-log/file-checkpoint-committer.ts';

export interface HttpSinkOptions<T> {
  /** `https://…` or `http://…`. */
  readonly url: string;
  /** How results stand in the body, one a line. Default `ndjson()`. */
  readonly format?: Format<T>;
  /** Default `POST`. */
  readonly method?: 'POST' | 'PUT' | 'PATCH';
  /** Beside `content-type` and `idempotency-key`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Name of the header that carries the key. Default `idempotency-key`. */
  readonly keyHeader?: string;
  /** Results of one request. Default 500. */
  readonly batchSize?: number;
  /** An answer that takes longer has an unknown outcome: it is sent again. Default 30 s. */
  readonly timeoutMs?: number;
  /** How long one request is tried before the job is restarted. Default 60 s. */
  readonly retryForMs?: number;
  /**
   * Answers 4xx (but 408, 425 and 429, which are tried again): end the job (default), or write the
   * results of the request into a file of that folder and go on.
   */
  readonly onRejected?: 'fail' | { readonly deadLetter: string };
  /**
   * Whether the receiver stores the key with what it takes, and takes each key once. Then results
   * count exactly once. Default false.
   */
  readonly receiverDeduplicates?: boolean;
  /**
   * Folder for what was sent, reachable from every process of the job: after a crash only a batch
   * that was just being sent is sent again. Without it, every start sends the results of its
   * checkpoint again, and `weir tx list` calls them pending. With `receiverDeduplicates` results
   * count once either way, and the folder only saves sending them again.
   */
  readonly confirmations?: string;
}

/**
 * Sends results to a web address when their checkpoint is complete, at least once; exactly once if
 * `receiverDeduplicates`.
 *
 * Fails for good with `SINK_REFUSED` when the receiver rejects a request; within the restart
 * strategy with `SINK_UNAVAILABLE` when it is away, answers 5xx or takes too long.
 * @throws ConfigurationError when an option is not allowed.
 */
export function httpSink<T>(options: HttpSinkOptions<T>): WriteAheadLogSink<T, HttpLine> {
  return new HttpSink(options);
}

class HttpSink<T> extends WriteAheadLogSink<T, HttpLine> {
  readonly name: string;
  readonly confirmation: 'atomic' | 'separate';
  readonly #encode: (value: T) => string;
  readonly #batchSize: number;
  readonly #output: HttpOutputOptions;
  readonly #confirmations: string | null;

  constructor(options: HttpSinkOptions<T>) {
    super();
    const url = parseUrl(options.url);
    checkWhole(options.batchSize, 1, 'httpSink batchSize');
    checkPositive(options.timeoutMs, 'httpSink timeoutMs');
    checkPositive(options.retryForMs, 'httpSink retryForMs');
    const format = options.format ?? ndjson<T>();
    if (format.hasHeader)
      throw new ConfigurationError(
        `httpSink format: ${format.name} with a header line is not allowed, give one without`,
      );
    const headers = {
      'content-type': format.name === 'ndjson' ? 'application/x-ndjson' : 'text/plain',
      ...options.headers,
    };
    const keyHeader = options.keyHeader ?? 'idempotency-key';
    for (const [name, value] of Object.entries({ ...headers, [keyHeader]: '' }))
      checkHeader(name, value);
    const { onRejected = 'fail', confirmations, receiverDeduplicates = false } = options;
    this.name = `http ${url.host}`;
    // The receiver keeps the key and the results in one step.
    this.confirmation = receiverDeduplicates ? 'atomic' : 'separate';
    this.#encode = (value) => format.createEncoder().encode(value);
    this.#batchSize = options.batchSize ?? 500;
    this.#output = {
      url,
      method: options.method ?? 'POST',
      headers,
      keyHeader,
      timeoutMs: options.timeoutMs ?? 30_000,
      retryForMs: options.retryForMs ?? 60_000,
      deadLetterFolder:
        onRejected === 'fail'
          ? null
          : resolveUserPath(onRejected.deadLetter, 'httpSink onRejected.deadLetter'),
    };
    this.#confirmations =
      confirmations === undefined ? null : resolveUserPath(confirmations, 'httpSink confirmations');
  }

  protected override toLogged(value: T): HttpLine {
    return { line: this.#encode(value), batchSize: this.#batchSize };
  }

  protected override connect(context: CommitterContext): WriteAheadLogTarget<HttpLine> {
    const folder = this.#confirmations;
    return {
      output: new HttpOutput(context, this.#output),
      confirmations: folder === null ? NO_CONFIRMATIONS : fileCheckpointCommitter(context, folder),
      confirmsSeparately: folder !== null,
    };
  }
}

/** Everything is sent again; the receiver knows the keys, or gets results twice. */
const NO_CONFIRMATIONS: CheckpointCommitter = {
  isCommitted: () => Promise.resolve(false),
  commitCheckpoint: () => Promise.resolve(),
};

/** As Node's client allows them, which would be loaded by every job to ask it. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Before the run; a value may be a secret, so only what is wrong with it is said. */
function checkHeader(name: string, value: string): void {
  if (HEADER_NAME.test(name) && HEADER_VALUE.test(value)) return;
  throw new ConfigurationError(
    `httpSink headers: ${JSON.stringify(name)} is not allowed: a name has no space or colon, ` +
      'and a value is a text without line ends and control characters (of a file, trim it)',
  );
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol)) return url;
  throw new ConfigurationError(
    `httpSink url: ${JSON.stringify(maskValue(text))} is not allowed, give https://… or http://…`,
  );
}
