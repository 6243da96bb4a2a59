/**
 * A server as one sink uses it: sessions, and steps that are tried again while it is away. Only
 * steps that may be carried out twice go through `withSession`; they fail with errors of the sink.
 */
import { Retries } from '@weir/core';
import type { Clock, ConnectorEnvironment } from '@weir/core';
import { asSinkErrors } from './redis-errors.ts';
import type { Connect, Session, SessionSettings } from './session.ts';

export interface ServerOptions {
  /** Names the sink in log and errors: `redisSink`. */
  readonly sink: string;
  /** By which the server lists the connections. */
  readonly name: string;
  readonly retryForMs: number;
  readonly connect: Connect;
}

/** What a new session does before anything else. */
type Renewed = (session: Session) => Promise<void>;

export class Server {
  readonly #settings: SessionSettings;
  readonly #clock: Clock;
  readonly #options: ServerOptions;
  readonly #retries: Retries;
  #session: Promise<Session> | null = null;

  constructor(
    environment: Pick<ConnectorEnvironment, 'clock' | 'logger' | 'signal'>,
    settings: SessionSettings,
    options: ServerOptions,
  ) {
    this.#clock = environment.clock;
    this.#settings = settings;
    this.#options = options;
    const { sink, retryForMs } = options;
    this.#retries = new Retries(environment, { name: sink, retryForMs });
  }

  get place(): string {
    return this.#settings.place;
  }

  /** Runs a step that may be carried out twice; tries it again while the server is away. */
  withSession<R>(step: (session: Session) => Promise<R>, renewed?: Renewed): Promise<R> {
    return this.#retries.run(() => asSinkErrors(async () => step(await this.session(renewed))));
  }

  /** One try. The same session for as long as it holds. */
  async session(renewed?: Renewed): Promise<Session> {
    const session = await this.#session?.catch(() => null);
    if (session !== null && session !== undefined && !session.isBroken) return session;
    session?.destroy();
    this.#session = this.#open(renewed);
    return this.#session;
  }

  async close(): Promise<void> {
    const session = await this.#session?.catch(() => null);
    await session?.close();
    this.#retries.close();
  }

  async #open(renewed?: Renewed): Promise<Session> {
    const { connect, name } = this.#options;
    const { cut } = this.#retries;
    const session = await connect(this.#settings, { clock: this.#clock, name, cut });
    try {
      await renewed?.(session);
    } catch (error) {
      session.destroy();
      throw error;
    }
    return session;
  }
}
