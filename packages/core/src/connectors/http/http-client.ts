/**
 * Requests to one address over connections that are kept open. An answer is told from none: what
 * broke, or took too long, is a value and no exception, since the caller treats both as answers.
 */
import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import { connectionTrouble } from '../connection-trouble.ts';
import type { ConnectionTrouble } from '../connection-trouble.ts';

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface HttpAnswer {
  readonly status: number;
  /** What `retry-after` asks for; 0 without it. */
  readonly retryAfterMs: number;
  /** Its beginning. */
  readonly body: string;
}

/** Loaded with the first request: a job without this sink does not pay for it at its start. */
interface Transport {
  readonly send: (url: URL, options: RequestOptions) => ClientRequest;
  readonly agent: Agent;
}

const BODY_LENGTH_MAX = 4096;

export class HttpClient {
  readonly #clock: Clock;
  readonly #url: URL;
  readonly #timeoutMs: number;
  #transport: Promise<Transport> | null = null;
  #isClosed = false;
  readonly #open = new Set<ClientRequest>();

  constructor(clock: Clock, url: URL, timeoutMs: number) {
    this.#clock = clock;
    this.#url = url;
    this.#timeoutMs = timeoutMs;
  }

  /** The answer, or why there is none. */
  async request({ method, headers, body }: HttpRequest): Promise<HttpAnswer | ConnectionTrouble> {
    const bytes = Buffer.from(body);
    this.#transport ??= transportTo(this.#url);
    const { send, agent } = await this.#transport;
    if (this.#isClosed) return noAnswer('the sink is closed');
    return new Promise((resolve) => {
      const request = send(this.#url, {
        method,
        headers: { ...headers, 'content-length': String(bytes.length) },
        agent,
      });
      this.#open.add(request);
      const timer = this.#clock.schedule(this.#timeoutMs, 'http-timeout', () => {
        request.destroy(new Error(`no answer within ${this.#timeoutMs} ms`));
      });
      const settle = (outcome: HttpAnswer | ConnectionTrouble): void => {
        timer.cancel();
        this.#open.delete(request);
        resolve(outcome);
      };
      request.on('error', (error) => settle(connectionTrouble(error)));
      request.on('response', (response) => {
        readBody(response, (text) => {
          const retryAfterMs = retryAfterOf(response);
          settle(
            text === null
              ? noAnswer('the connection broke in its answer')
              : { status: response.statusCode ?? 0, retryAfterMs, body: text },
          );
        });
      });
      request.end(bytes);
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const request of this.#open) request.destroy(new Error('the sink is closed'));
    void this.#transport?.then(({ agent }) => agent.destroy());
  }
}

function noAnswer(text: string): ConnectionTrouble {
  return { text, isFinal: false };
}

async function transportTo(url: URL): Promise<Transport> {
  const module = url.protocol === 'https:' ? await import('node:https') : await import('node:http');
  return {
    send: (to, options) => module.request(to, options),
    agent: new module.Agent({ keepAlive: true, maxSockets: 1 }),
  };
}

function readBody(response: IncomingMessage, done: (text: string | null) => void): void {
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    if (text.length < BODY_LENGTH_MAX) text += chunk;
  });
  response.on('end', () => done(text.slice(0, BODY_LENGTH_MAX)));
  response.on('error', () => done(null));
}

/** Seconds; a date is not kept to, for clocks differ. */
function retryAfterOf({ headers }: IncomingMessage): number {
  const seconds = Number(headers['retry-after']);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0;
}
