/**
 * Serves the REST API over HTTP: at `/x` for browsers and at `/v1/x` for Flink's clients. On
 * loopback it has no other guard than that, so what a page of the web could make a browser send is
 * refused: requests to another host name, and changes asked for by another origin. Loaded only when
 * a run is to be operated.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Buffer } from 'node:buffer';
import { messageOf, toErrorInfo } from '../base/errors.ts';
import { RestError } from './rest-error.ts';
import { answer } from './routes.ts';
import type { RestAnswer, RestBackend, RestRequest } from './routes.ts';

/** Far more than any request needs. */
const BODY_BYTES_MAX = 1024 * 1024;
/** Ports tried, from the wanted one on. */
const PORTS_TRIED = 100;
const LOOPBACK = '127.0.0.1';
const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

export class RestServer {
  readonly #server: Server;
  readonly #backend: RestBackend;

  private constructor(server: Server, backend: RestBackend) {
    this.#server = server;
    this.#backend = backend;
  }

  /** Listens on loopback, on `port` or the next that is free; 0: any. */
  static async start(backend: RestBackend, port: number): Promise<RestServer> {
    const server = createServer((request, response) => void serve(backend, request, response));
    // A run that has ended does not wait for clients that keep a connection open.
    server.keepAliveTimeout = 1000;
    await listen(server, port);
    return new RestServer(server, backend);
  }

  /** `127.0.0.1:8081`. */
  get address(): string {
    const bound = this.#server.address();
    const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
    return `${LOOPBACK}:${port}`;
  }

  /** Waits a moment for those who still ask for a result, then closes. */
  async close(): Promise<void> {
    await this.#backend.operations.settled();
    this.#backend.operations.close();
    const closed = Promise.withResolvers<void>();
    this.#server.close(() => closed.resolve());
    this.#server.closeIdleConnections();
    this.#server.closeAllConnections();
    await closed.promise;
  }
}

async function listen(server: Server, wanted: number): Promise<void> {
  for (let tried = 0; ; tried++) {
    const port = wanted === 0 ? 0 : wanted + tried;
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen({ port, host: LOOPBACK }, () => {
          server.off('error', reject);
          resolve();
        });
      });
      return;
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      if (!isTaken || tried + 1 >= PORTS_TRIED || port >= 65_535) throw error;
    }
  }
}

async function serve(
  backend: RestBackend,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let result: RestAnswer;
  try {
    guard(incoming);
    result = answer(backend, await requestOf(incoming));
  } catch (error) {
    result = failed(error);
  }
  const body = Buffer.from(JSON.stringify(result.body));
  response.writeHead(result.status, {
    'Content-Type': 'application/json; charset=UTF-8',
    'Content-Length': body.length,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(body);
}

function guard({ headers, method }: IncomingMessage): void {
  const name = nameOf(headers.host ?? LOOPBACK);
  if (!LOOPBACK_NAMES.has(name))
    throw new RestError(403, `This API answers on loopback only, not as ${name}.`);
  const { origin } = headers;
  if (method === 'GET' || method === 'HEAD' || origin === undefined) return;
  const from = origin.replace(/^https?:\/\//, '');
  if (from !== headers.host) throw new RestError(403, `Requests from ${origin} are refused.`);
}

/** Without the port. */
function nameOf(host: string): string {
  return host.replace(/:\d+$/, '').toLowerCase();
}

async function requestOf(incoming: IncomingMessage): Promise<RestRequest> {
  const url = new URL(incoming.url ?? '/', 'http://weir');
  const path = url.pathname.replace(/^\/v1(?=\/)/, '').replace(/(?<=.)\/$/, '');
  const body = await bodyOf(incoming);
  return { method: incoming.method ?? 'GET', path, query: url.searchParams, body };
}

/** Flink's client sends a body with every request, also with GET. */
async function bodyOf(incoming: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > BODY_BYTES_MAX) throw new RestError(413, 'The request is too large.');
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8').trim();
  if (text === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new RestError(400, `Bad request received: ${messageOf(error)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw new RestError(400, 'Request did not match expected format: a JSON object is wanted.');
}

function failed(error: unknown): RestAnswer {
  if (error instanceof RestError)
    return { status: error.status, body: { errors: [error.message] } };
  const trace = toErrorInfo(error).stack || messageOf(error);
  const wrapped = `<Exception on server side:\n${trace}\nEnd of exception on server side>`;
  return { status: 500, body: { errors: ['Internal server error.', wrapped] } };
}
