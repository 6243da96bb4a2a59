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
import type { EncodedCommands } from '../client/encode-command.ts';
import type { Server } from '../client/server.ts';
import type { Command, Reply, Session } from '../client/session.ts';
import { checkKeys } from '../commands/check-keys.ts';
import { asksKeys, commandCount, encoded, unpacked } from '../commands/logged-commands.ts';
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
    for (let next: Next = { from: 0, watchedBy: null }; next.from !== values.length;) {
      let known = next;
      next = await asSinkErrors(() =>
        this.#server.withSession((session) => {
          const sending = { values, next: known, batch };
          // A second try asks: the first may have written, though its session still holds.
          known = { ...known, watchedBy: null };
          return this.#write(session, sending);
        }),
      );
    }
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #write(session: Session, sending: Sending): Promise<Next> {
    return this.#options.isAtomic
      ? this.#writeOnce(session, sending)
      : this.#writePiece(session, sending);
  }

  async #writePiece(session: Session, { values, next: { from } }: Sending): Promise<Next> {
    const to = this.#endOf(values, from);
    const piece = values.slice(from, to);
    await this.#checkKeys(session, piece);
    await session.send('writing', [encodedCommands(piece)]);
    return { from: to, watchedBy: null };
  }

  /** One round trip a piece: the place of the next is asked for along with it. */
  async #writeOnce(session: Session, { values, next, batch }: Sending): Promise<Next> {
    const key = confirmationKey(this.#options.prefix, batch);
    const look: readonly Command[] = [
      ['WATCH', key],
      ['GET', key],
    ];
    const placeIn = (replies: readonly Reply[]): number =>
      recordsDone(this.#server, key, replies.at(-1) ?? null, batch) ?? values.length;
    const from =
      next.watchedBy === session ? next.from : placeIn(await session.send(`reading ${key}`, look));
    if (from >= values.length) return { from: values.length, watchedBy: null };
    const to = this.#endOf(values, from);
    const piece = values.slice(from, to);
    await this.#checkKeys(session, piece);
    const done = to === values.length ? null : to;
    const replies = await session.send('writing', [
      ['MULTI'],
      encodedCommands(piece),
      confirmation(key, batch, done),
      ['EXEC'],
      ...look,
    ]);
    const outcome = replies.at(-1 - look.length) ?? null;
    // Else somebody moved the confirmation on, and nothing was carried out.
    if (isList(outcome)) this.#requireAll(piece, outcome);
    return { from: placeIn(replies), watchedBy: session };
  }

  /** Most pieces only set keys, and need not be looked into. */
  async #checkKeys(session: Session, piece: readonly LoggedCommands[]): Promise<void> {
    if (piece.some(asksKeys)) await checkKeys(session, this.#server.place, piece.flatMap(unpacked));
  }

  #endOf(values: readonly unknown[], from: number): number {
    return Math.min(values.length, from + this.#options.batchSize);
  }

  #requireAll(piece: readonly LoggedCommands[], replies: readonly Reply[]): void {
    if (!replies.some((reply) => reply instanceof Error)) return;
    const commands = piece.flatMap(unpacked);
    const failed = commands.flatMap((command, index) => {
      const reply = replies[index];
      return reply instanceof Error ? [`${command.slice(0, 2).join(' ')}: ${reply.message}`] : [];
    });
    throw new WeirError(
      'user',
      `Redis at ${this.#server.place} did not carry out ${failed.length} command(s) of a ` +
        `transaction of ${commands.length}, since a key was changed while it was written ` +
        `(${failed.slice(0, 3).join('; ')}); the others are written. Write what is missing by ` +
        'hand, and start the job again',
      { code: 'SINK_REFUSED', details: { failed: failed.slice(0, 100) } },
    );
  }
}

/** Where the next piece begins. */
interface Next {
  readonly from: number;
  /** The session in which the confirmation has been watched since `from` was read. */
  readonly watchedBy: Session | null;
}

interface Sending {
  readonly values: readonly LoggedCommands[];
  readonly next: Next;
  readonly batch: LoggedBatch;
}

function encodedCommands(piece: readonly LoggedCommands[]): EncodedCommands {
  const count = piece.reduce((sum, logged) => sum + commandCount(logged), 0);
  return { count, pieces: piece.map(encoded) };
}

function isList(reply: Reply): reply is readonly Reply[] {
  return Array.isArray(reply);
}
