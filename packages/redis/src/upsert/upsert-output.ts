/**
 * Writes values by their key, in one pipeline a batch. A connection that broke may still bring what
 * was on its way, with values that are older by then; so before anything is written over a new one,
 * the old one is ended.
 */
import type { IdempotentOutput, SinkWriterContext } from '@weir/core';
import { asSinkErrors, RedisError } from '../client/redis-errors.ts';
import type { Server } from '../client/server.ts';
import type { Session } from '../client/session.ts';
import { endOlderConnections } from '../client-name.ts';
import { wrongType } from '../commands/check-keys.ts';
import { checkServer } from '../server-settings.ts';
import type { UpsertWrite, WriteEncoder } from './upsert-write.ts';

export class UpsertOutput<T> implements IdempotentOutput<T, UpsertWrite> {
  readonly #context: SinkWriterContext;
  readonly #server: Server;
  readonly #encoder: WriteEncoder<T>;
  readonly #allowEviction: boolean;

  constructor(
    context: SinkWriterContext,
    server: Server,
    options: { readonly encoder: WriteEncoder<T>; readonly allowEviction: boolean },
  ) {
    this.#context = context;
    this.#server = server;
    this.#encoder = options.encoder;
    this.#allowEviction = options.allowEviction;
  }

  async open(): Promise<void> {
    const allowEviction = this.#allowEviction;
    await asSinkErrors(() =>
      this.#server.withSession(
        (session) => checkServer(session, this.#server.place, { allowEviction }),
        (session) => this.#takeOver(session),
      ),
    );
  }

  prepare(value: T): UpsertWrite {
    return this.#encoder.encode(value);
  }

  keyOf({ key }: UpsertWrite): string {
    return key;
  }

  async writeBatch(writes: readonly UpsertWrite[]): Promise<void> {
    await asSinkErrors(async () => {
      const session = await this.#server.session((it) => this.#takeOver(it));
      const commands = writes.flatMap((write) => this.#encoder.commands(write));
      if (commands.length === 0) return;
      try {
        await session.send('writing', commands);
      } catch (error) {
        if (error instanceof RedisError && error.reply?.startsWith('WRONGTYPE') === true)
          await this.#nameKey(session, writes);
        throw error;
      }
    });
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #takeOver(session: Session): Promise<void> {
    return endOlderConnections(session, this.#context, this.#context);
  }

  /** Throws for the first key that holds no hash; a server does not say which it was. */
  async #nameKey(session: Session, writes: readonly UpsertWrite[]): Promise<void> {
    const types = await session.send(
      'TYPE',
      writes.map(({ key }) => ['TYPE', key]),
    );
    const index = types.findIndex((type) => type !== 'hash' && type !== 'none');
    const key = writes[index]?.key;
    if (key !== undefined)
      throw wrongType(this.#server.place, key, { type: String(types[index]), wanted: 'hash' });
  }
}
