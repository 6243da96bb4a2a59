/**
 * One connection, as a sink uses it: pipelines of commands one after another, each with an end to
 * the waiting. A session that broke stays broken; whoever owns it opens another. It speaks RESP2
 * itself: what a sink has logged goes to the server as it is (`sink/command-log-output.ts`), which
 * client libraries have no way for.
 */
import type { Socket } from 'node:net';
import { connect as connectPlain } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '@weir/core';
import { bytesOf, countOf } from './encode-command.ts';
import type { EncodedCommands } from './encode-command.ts';
import { noAnswer, refusal } from './redis-errors.ts';
import { ReplyError, ReplyParser } from './reply-parser.ts';

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
  send(what: string, commands: readonly (Command | EncodedCommands)[]): Promise<readonly Reply[]>;
  close(): Promise<void>;
  /** Breaks the connection. */
  destroy(): void;
}

export interface SessionOptions {
  readonly clock: Clock;
  /** By which the server lists the connection. */
  readonly name: string;
  /** Breaks the connection when it is aborted. */
  readonly cut: AbortSignal;
}

/** Opens sessions; tests put theirs in its place. */
export type Connect = (settings: SessionSettings, options: SessionOptions) => Promise<Session>;

interface Pipeline {
  readonly count: number;
  readonly replies: Reply[];
  readonly resolve: (replies: readonly Reply[]) => void;
  readonly reject: (error: Error) => void;
}

const CLOSE_LIMIT_MS = 2000;
const KEEP_ALIVE_MS = 5000;

export class RedisSession implements Session {
  readonly #socket: Socket;
  readonly #settings: SessionSettings;
  readonly #clock: Clock;
  readonly #parser = new ReplyParser((reply) => this.#onReply(reply));
  /** Those whose replies are not all there, in the order in which they were sent. */
  readonly #pipelines: Pipeline[] = [];
  readonly #connected: Promise<void>;
  readonly #cut: AbortSignal;
  readonly #onCut = (): void => this.destroy();
  #failure: Error | null = null;

  private constructor(socket: Socket, settings: SessionSettings, { clock, cut }: SessionOptions) {
    this.#socket = socket;
    this.#settings = settings;
    this.#clock = clock;
    this.#cut = cut;
    cut.addEventListener('abort', this.#onCut, { once: true });
    socket.on('data', (data: Buffer) => this.#onData(data));
    socket.on('error', (error) => this.#break(error));
    socket.on('close', () => this.#break(new Error('the server closed the connection')));
    const event = settings.tls === null ? 'connect' : 'secureConnect';
    this.#connected = new Promise((resolve, reject) => {
      socket.once(event, () => resolve());
      socket.once('close', () => reject(this.#failure ?? new Error('closed')));
    });
  }

  static async open(settings: SessionSettings, options: SessionOptions): Promise<RedisSession> {
    const { username, password, database, connectTimeoutMs } = settings;
    const secret = typeof password === 'function' ? await password() : password;
    const socket = socketTo(settings);
    const session = new RedisSession(socket, settings, options);
    const greeting: Command[] = [
      ...(secret === null ? [] : [['AUTH', ...(username === null ? [] : [username]), secret]]),
      ...(database === 0 ? [] : [['SELECT', String(database)]]),
      ['CLIENT', 'SETNAME', options.name],
    ];
    try {
      await session.#guarded('connecting', connectTimeoutMs, async () => {
        // With TLS not before the server has proven who it is: there is a password.
        await session.#connected;
        return session.#exchange(greeting);
      });
    } catch (error) {
      session.destroy();
      throw error;
    }
    return session;
  }

  get isBroken(): boolean {
    return this.#failure !== null;
  }

  async send(
    what: string,
    commands: readonly (Command | EncodedCommands)[],
  ): Promise<readonly Reply[]> {
    const { requestTimeoutMs } = this.#settings;
    return this.#guarded(what, requestTimeoutMs, () => this.#exchange(commands));
  }

  /** Waits for what is on its way, within limits. */
  async close(): Promise<void> {
    const limit = this.#clock.schedule(CLOSE_LIMIT_MS, 'redis-close', () => this.destroy());
    try {
      if (this.#failure === null && this.#pipelines.length > 0) await this.#exchange([['PING']]);
    } catch {
      // It is gone, which is what was asked for.
    } finally {
      limit.cancel();
      this.destroy();
    }
  }

  destroy(): void {
    this.#break(new Error('the connection was closed'));
  }

  #exchange(commands: readonly (Command | EncodedCommands)[]): Promise<readonly Reply[]> {
    const count = countOf(commands);
    if (count === 0) return Promise.resolve([]);
    if (this.#failure !== null) return Promise.reject(this.#failure);
    const bytes = bytesOf(commands);
    return new Promise((resolve, reject) => {
      this.#pipelines.push({ count, replies: [], resolve, reject });
      this.#socket.write(bytes);
    });
  }

  #onData(data: Buffer): void {
    try {
      this.#parser.read(data);
    } catch (error) {
      this.#break(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #onReply(reply: Reply): void {
    const pipeline = this.#pipelines[0];
    if (pipeline === undefined) {
      // What a server says to one connection too many.
      this.#break(reply instanceof Error ? reply : new Error('it answered what nobody asked'));
      return;
    }
    pipeline.replies.push(reply);
    if (pipeline.replies.length < pipeline.count) return;
    this.#pipelines.shift();
    const refused = refusedIn(pipeline);
    if (refused === null) pipeline.resolve(pipeline.replies);
    else pipeline.reject(refused);
  }

  /** The first reason counts; what waits for replies gets it as well. */
  #break(reason: Error): void {
    if (this.#failure !== null) return;
    this.#failure = reason;
    this.#cut.removeEventListener('abort', this.#onCut);
    this.#socket.destroy();
    for (const it of this.#pipelines.splice(0)) it.reject(refusedIn(it) ?? reason);
  }

  async #guarded<R>(what: string, limitMs: number, run: () => Promise<R>): Promise<R> {
    const { place } = this.#settings;
    const timer = this.#clock.schedule(limitMs, 'redis-request', () =>
      this.#break(new Error(`no answer for ${limitMs} ms`)),
    );
    try {
      return await run();
    } catch (error) {
      if (error instanceof ReplyError) throw refusal(what, place, error.message);
      this.#break(error instanceof Error ? error : new Error(String(error)));
      throw noAnswer(what, place, error);
    } finally {
      timer.cancel();
    }
  }
}

function refusedIn({ replies }: Pipeline): ReplyError | null {
  return replies.find((it) => it instanceof ReplyError) ?? null;
}

function socketTo({ host, port, tls }: SessionSettings): Socket {
  const socket = tls === null ? connectPlain({ host, port }) : connectTls({ ...tls, host, port });
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  return socket;
}
