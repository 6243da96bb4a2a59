/**
 * One connection, as a sink uses it: pipelines of commands one after another, each with an end to
 * the waiting. A session that broke stays broken; whoever owns it opens another. The client library
 * is loaded with the first connection, since jobs that only explain themselves need none.
 */
import type { ConnectionOptions } from 'node:tls';
import type { Clock } from '@weir/core';
import { noAnswer, refusal } from './redis-errors.ts';

export interface SessionSettings {
  readonly host: string;
  readonly port: number;
  readonly database: number;
  readonly username: string | null;
  /** Never printed. */
  readonly password: string | (() => string | Promise<string>) | null;
  /** `null`: without TLS. */
  readonly tls: ConnectionOptions | null;
  /** `host:port/database`, for messages. */
  readonly place: string;
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
}

/** A command with its arguments, as it goes to the server. */
export type Command = readonly (string | Buffer)[];
/** An `Error` is a refusal, inside the answer to EXEC. */
export type Reply = string | number | null | Error | readonly Reply[];

/** A connection to the server, as sinks use it. */
export interface Session {
  readonly isBroken: boolean;
  /**
   * Sends the commands in one go; their replies, in order. Rejects with the first refusal: those
   * behind it were carried out all the same, unless they are in a transaction with it.
   */
  send(what: string, commands: readonly Command[]): Promise<readonly Reply[]>;
  close(): Promise<void>;
  /** Breaks the connection. */
  destroy(): void;
}

export interface SessionOptions {
  readonly clock: Clock;
  /** By which the server lists the connection. */
  readonly name: string;
}

/** Opens sessions; tests put theirs in its place. */
export type Connect = (settings: SessionSettings, options: SessionOptions) => Promise<Session>;

/** What is used of the client library: its own types depend on thousands of commands. */
interface Client {
  readonly isReady: boolean;
  on(event: 'error', listener: (error: Error) => void): unknown;
  connect(): Promise<unknown>;
  multi(): Pipeline;
  close(): Promise<void>;
  destroy(): void;
}

interface Pipeline {
  addCommand(args: (string | Buffer)[]): unknown;
  execAsPipeline(): Promise<unknown>;
}

const CLOSE_LIMIT_MS = 2000;

export class RedisSession implements Session {
  readonly #client: Client;
  readonly #settings: SessionSettings;
  readonly #clock: Clock;
  readonly #isRefusal: (error: unknown) => error is Error;
  #failure: Error | null = null;

  private constructor(
    client: Client,
    settings: SessionSettings,
    clock: Clock,
    isRefusal: (error: unknown) => error is Error,
  ) {
    this.#client = client;
    this.#settings = settings;
    this.#clock = clock;
    this.#isRefusal = isRefusal;
    // Without a listener the process would end when an idle connection breaks.
    client.on('error', (error) => (this.#failure ??= error));
  }

  static async open(settings: SessionSettings, options: SessionOptions): Promise<RedisSession> {
    const { createClient, ErrorReply } = await import('@redis/client');
    const { host, port, database, username, password, tls, connectTimeoutMs } = settings;
    const secret = typeof password === 'function' ? await password() : password;
    const socket = { host, port, connectTimeout: connectTimeoutMs, reconnectStrategy: false };
    const client: Client = createClient({
      socket:
        tls === null
          ? { ...socket, reconnectStrategy: false }
          : { ...tls, ...socket, reconnectStrategy: false, tls: true },
      ...(username === null ? {} : { username }),
      ...(secret === null ? {} : { password: secret }),
      database,
      name: options.name,
      RESP: 2,
      disableOfflineQueue: true,
      disableClientInfo: true,
      maintNotifications: 'disabled',
    });
    const isRefusal = (error: unknown): error is Error => error instanceof ErrorReply;
    const session = new RedisSession(client, settings, options.clock, isRefusal);
    await session.#guarded('connecting', connectTimeoutMs, () => client.connect());
    return session;
  }

  get isBroken(): boolean {
    return this.#failure !== null;
  }

  async send(what: string, commands: readonly Command[]): Promise<readonly Reply[]> {
    return this.#guarded(what, this.#settings.requestTimeoutMs, async () => {
      const pipeline = this.#client.multi();
      for (const command of commands) pipeline.addCommand([...command]);
      return (await pipeline.execAsPipeline()) as readonly Reply[];
    });
  }

  async close(): Promise<void> {
    const limit = this.#clock.schedule(CLOSE_LIMIT_MS, 'redis-close', () => this.destroy());
    try {
      if (this.#failure === null) await this.#client.close();
    } catch {
      // It is gone, which is what was asked for.
    } finally {
      limit.cancel();
      this.destroy();
    }
  }

  destroy(): void {
    this.#failure ??= new Error('the connection was closed');
    try {
      this.#client.destroy();
    } catch {
      // It was closed before.
    }
  }

  async #guarded<R>(what: string, limitMs: number, run: () => Promise<R>): Promise<R> {
    const { place } = this.#settings;
    const timer = this.#clock.schedule(limitMs, 'redis-request', () => {
      this.#failure ??= new Error(`no answer for ${limitMs} ms`);
      this.destroy();
    });
    try {
      if (this.#failure !== null) throw this.#failure;
      return await run();
    } catch (error) {
      if (this.#isRefusal(error)) {
        if (what === 'connecting') this.destroy();
        throw refusal(what, place, error.message);
      }
      const failure = this.#failure ?? (error instanceof Error ? error : new Error(String(error)));
      this.#failure = failure;
      this.destroy();
      throw noAnswer(what, place, failure);
    } finally {
      timer.cancel();
    }
  }
}
