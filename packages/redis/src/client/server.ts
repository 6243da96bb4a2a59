/**
 * A server as one sink uses it: sessions, and steps that are tried again while it is away. Only
 * steps that may be carried out twice go through `retry`.
 */
import type { Clock, ConnectorEnvironment } from '@weir/core';
import { RedisError } from './redis-errors.ts';
import type { Connect, Session, SessionSettings } from './session.ts';

const RETRY_DELAY_MS = 50;
const RETRY_DELAY_MAX_MS = 2000;

export interface ServerOptions {
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
  #session: Promise<Session> | null = null;
  #isClosed = false;

  constructor(
    environment: Pick<ConnectorEnvironment, 'clock'>,
    settings: SessionSettings,
    options: ServerOptions,
  ) {
    this.#clock = environment.clock;
    this.#settings = settings;
    this.#options = options;
  }

  get place(): string {
    return this.#settings.place;
  }

  /** Runs a step that may be carried out twice; tries it again while the server is away. */
  async withSession<R>(step: (session: Session) => Promise<R>, renewed?: Renewed): Promise<R> {
    const startedAt = this.#clock.now();
    for (let delayMs = RETRY_DELAY_MS; ; delayMs = Math.min(2 * delayMs, RETRY_DELAY_MAX_MS)) {
      try {
        return await step(await this.session(renewed));
      } catch (error) {
        const isTransient = error instanceof RedisError && error.isTransient;
        const triedMs = this.#clock.now() - startedAt;
        const { retryForMs } = this.#options;
        if (!isTransient || this.#isClosed || triedMs + delayMs > retryForMs) throw error;
        await new Promise<void>((resolve) => {
          this.#clock.schedule(delayMs, 'redis-retry', resolve);
        });
      }
    }
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
    this.#isClosed = true;
    const session = await this.#session?.catch(() => null);
    await session?.close();
  }

  async #open(renewed?: Renewed): Promise<Session> {
    const { connect, name } = this.#options;
    const session = await connect(this.#settings, { clock: this.#clock, name });
    try {
      await renewed?.(session);
    } catch (error) {
      session.destroy();
      throw error;
    }
    return session;
  }
}
