/**
 * Writes the commands of a batch: piece by piece, so that no transaction keeps other clients of the
 * server waiting for long. A piece holds whole records.
 *
 * With an atomic confirmation each piece is a transaction that also moves the confirmation on, and
 * that is carried out only if nobody moved it meanwhile (WATCH): whether the answer to an earlier
 * try was lost, or an outdated process writes the same batch beside this one, each record is
 * written once. A command that fails inside a transaction is not taken back by Redis, and the
 * others are carried out; so keys are looked at before (`checkKeys`), and what still goes wrong,
 * because somebody else changed a key in between, ends the job and is named.
 */
import { WeirError } from '@weir/core';
import type { LoggedBatch, WriteAheadLogOutput } from '@weir/core';
import { asSinkErrors } from '../client/redis-errors.ts';
import type { Server } from '../client/server.ts';
import type { Command, Reply, Session } from '../client/session.ts';
import { checkKeys } from '../commands/check-keys.ts';
import { unpacked } from '../commands/logged-commands.ts';
import type { LoggedCommands } from '../commands/logged-commands.ts';
import { checkServer } from '../server-settings.ts';
import { confirmation, confirmationKey, recordsDone } from './confirmations.ts';

export interface CommandLogOptions {
  readonly isAtomic: boolean;
  readonly prefix: string;
  /** Records of one piece. */
  readonly batchSize: number;
  readonly allowEviction: boolean;
}

export class CommandLogOutput implements WriteAheadLogOutput<LoggedCommands> {
  readonly #server: Server;
  readonly #options: CommandLogOptions;

  constructor(server: Server, options: CommandLogOptions) {
    this.#server = server;
    this.#options = options;
  }

  async open(): Promise<void> {
    await asSinkErrors(() =>
      this.#server.withSession((session) =>
        checkServer(session, this.#server.place, this.#options),
      ),
    );
  }

  async send(values: readonly LoggedCommands[], batch: LoggedBatch): Promise<void> {
    for (let from = 0; from !== values.length;)
      from = await asSinkErrors(() =>
        this.#server.withSession((session) => this.#write(session, { values, from, batch })),
      );
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #write(session: Session, sending: Sending): Promise<number> {
    return this.#options.isAtomic
      ? this.#writeOnce(session, sending)
      : this.#writePiece(session, sending);
  }

  /** Where the next piece begins. */
  async #writePiece(session: Session, { values, from }: Sending): Promise<number> {
    const to = this.#endOf(values, from);
    const commands = values.slice(from, to).flatMap(unpacked);
    await checkKeys(session, this.#server.place, commands);
    if (commands.length > 0) await session.send('writing', commands);
    return to;
  }

  /** Where the next piece begins, as the server says: `from` only tells where it was before. */
  async #writeOnce(session: Session, { values, batch }: Sending): Promise<number> {
    const key = confirmationKey(this.#options.prefix, batch);
    const [, value = null] = await session.send(`reading ${key}`, [
      ['WATCH', key],
      ['GET', key],
    ]);
    const from = recordsDone(key, value, batch) ?? values.length;
    if (from >= values.length) return values.length;
    const to = this.#endOf(values, from);
    const commands = values.slice(from, to).flatMap(unpacked);
    await checkKeys(session, this.#server.place, commands);
    const done = to === values.length ? null : to;
    const replies = await session.send('writing', [
      ['MULTI'],
      ...commands,
      confirmation(key, batch, done),
      ['EXEC'],
    ]);
    const outcome = replies.at(-1) ?? null;
    // Somebody else moved the confirmation on: looked at again.
    if (!isList(outcome)) return from;
    this.#requireAll(commands, outcome);
    return to;
  }

  #endOf(values: readonly unknown[], from: number): number {
    return Math.min(values.length, from + this.#options.batchSize);
  }

  #requireAll(commands: readonly Command[], replies: readonly Reply[]): void {
    const failed = commands.flatMap((command, index) => {
      const reply = replies[index];
      return reply instanceof Error ? [`${command.slice(0, 2).join(' ')}: ${reply.message}`] : [];
    });
    if (failed.length === 0) return;
    throw new WeirError(
      'user',
      `Redis at ${this.#server.place} did not carry out ${failed.length} command(s) of a ` +
        `transaction of ${commands.length}, since a key was changed while it was written ` +
        `(${failed.slice(0, 3).join('; ')}); the others are written. Write what is missing by ` +
        'hand, and start the job again',
      { code: 'SINK_UNAVAILABLE', details: { failed: failed.slice(0, 100) } },
    );
  }
}

interface Sending {
  readonly values: readonly LoggedCommands[];
  readonly from: number;
  readonly batch: LoggedBatch;
}

function isList(reply: Reply): reply is readonly Reply[] {
  return Array.isArray(reply);
}
