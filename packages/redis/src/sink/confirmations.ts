/**
 * The memory of a write-ahead-log sink, in the database that it writes to: one key for every writer
 * (attempt of a subtask), `<prefix>:<job>:<sink>:<subtask>-<attempt>-…`, which holds how far that
 * writer's results are there: `7`, all of checkpoint 7 and before; `7+2000`, of checkpoint 7 the
 * first 2000 records. Keys are some 100 bytes and stay, since an old savepoint may ask for them.
 */
import { StateCorruptionError } from '@weir/core';
import type { CheckpointCommitter, LoggedBatch } from '@weir/core';
import { asSinkErrors } from '../client/redis-errors.ts';
import type { Server } from '../client/server.ts';
import type { Command, Reply } from '../client/session.ts';

const ID_LENGTH = 12;

export function confirmationKey(prefix: string, batch: LoggedBatch): string {
  const { jobId, operatorId, writer } = batch;
  return `${prefix}:${jobId.slice(0, ID_LENGTH)}:${operatorId.slice(0, ID_LENGTH)}:${writer}`;
}

/** `records`: how many of the batch are there; `null`: all. */
export function confirmation(key: string, batch: LoggedBatch, records: number | null): Command {
  return ['SET', key, `${batch.checkpointId}${records === null ? '' : `+${records}`}`];
}

/**
 * How many records of the batch are there; `null`: all.
 * @throws StateCorruptionError when the key holds what no sink wrote.
 */
export function recordsDone(
  { place }: Server,
  key: string,
  value: Reply,
  batch: LoggedBatch,
): number | null {
  if (value === null) return 0;
  const match = typeof value === 'string' ? /^(\d+)(?:\+(\d+))?$/.exec(value) : null;
  if (match === null)
    throw new StateCorruptionError(
      `Redis at ${place}: the confirmation ${key} of a write-ahead log is damaged: without it ` +
        'nobody can say which results are written. Restore it, or remove it to have the results ' +
        'of the newest checkpoint written again',
      { details: { key } },
    );
  const checkpointId = Number(match[1]);
  if (checkpointId !== batch.checkpointId) return checkpointId > batch.checkpointId ? null : 0;
  return match[2] === undefined ? null : Number(match[2]);
}

export class RedisConfirmations implements CheckpointCommitter {
  readonly #server: Server;
  readonly #prefix: string;

  constructor(server: Server, prefix: string) {
    this.#server = server;
    this.#prefix = prefix;
  }

  isCommitted(batch: LoggedBatch): Promise<boolean> {
    const key = confirmationKey(this.#prefix, batch);
    return asSinkErrors(() =>
      this.#server.withSession(async (session) => {
        const [value = null] = await session.send(`reading ${key}`, [['GET', key]]);
        return recordsDone(this.#server, key, value, batch) === null;
      }),
    );
  }

  async commitCheckpoint(batch: LoggedBatch): Promise<void> {
    const key = confirmationKey(this.#prefix, batch);
    await asSinkErrors(() =>
      this.#server.withSession((session) =>
        session.send(`writing ${key}`, [confirmation(key, batch, null)]),
      ),
    );
  }
}
