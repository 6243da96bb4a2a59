/**
 * Names by which the server lists the connections of a sink: job, sink, and for the writers of an
 * upsert sink subtask and attempt. A writer that connects ends the connections of its older
 * attempts, and those of its own that broke: what is still on its way from them would put older
 * values over newer ones. An outdated writer that connects again finds the newer one, and is
 * refused.
 */
import { compareAttempts, FencedError } from '@weir/core';
import type { ConnectorEnvironment, SinkIdentity, SinkWriterContext } from '@weir/core';
import { RedisError } from './client/redis-errors.ts';
import type { Session } from './client/session.ts';

const ID_LENGTH = 12;

export function sinkName({
  jobId,
  operatorId,
}: Pick<SinkIdentity, 'jobId' | 'operatorId'>): string {
  return `weir:${jobId.slice(0, ID_LENGTH)}:${operatorId.slice(0, ID_LENGTH)}`;
}

export type Writer = Pick<SinkWriterContext, 'jobId' | 'operatorId' | 'subtask' | 'attempt'>;

export function writerName(writer: Writer): string {
  const { epoch, counter } = writer.attempt;
  return `${sinkName(writer)}:${writer.subtask}:${epoch}.${counter}`;
}

/**
 * To be called by a new connection that has its name already, so that of two writers that connect
 * at once one finds the other.
 * @throws FencedError when a newer attempt is connected.
 */
export async function endOlderConnections(
  session: Session,
  writer: Writer,
  { logger }: Pick<ConnectorEnvironment, 'logger'>,
): Promise<void> {
  try {
    const [own, list] = await session.send('CLIENT LIST', [
      ['CLIENT', 'ID'],
      ['CLIENT', 'LIST'],
    ]);
    const older: string[] = [];
    for (const { id, name } of connectionsIn(String(list))) {
      const attempt = rivalIn(name, writer);
      if (attempt === null || id === String(own)) continue;
      const order = compareAttempts(attempt, writer.attempt);
      if (order > 0)
        throw new FencedError(`a sink finds that a newer attempt writes to Redis: ${name}`);
      older.push(id);
    }
    if (older.length > 0)
      await session.send(
        'CLIENT KILL',
        older.map((id) => ['CLIENT', 'KILL', 'ID', id]),
      );
  } catch (error) {
    if (!(error instanceof RedisError) || error.reply?.startsWith('NOPERM') !== true) throw error;
    logger.log(
      'warn',
      'redisUpsertSink may not list and end connections (CLIENT LIST, CLIENT KILL): a process ' +
        'that was cut off, but not killed, could put older values over newer ones; grant its ' +
        'user these commands',
    );
  }
}

function connectionsIn(list: string): { readonly id: string; readonly name: string }[] {
  return list.split('\n').flatMap((line) => {
    const [, id, name] = /^id=(\d+) .*? name=(\S*) /.exec(line) ?? [];
    return id === undefined || name === undefined ? [] : [{ id, name }];
  });
}

/**
 * The attempt of a writer of this sink of which only one may write: other subtasks of the same
 * process live beside it; of another process none does, and with another parallelism its keys were
 * with other subtasks.
 */
function rivalIn(name: string, writer: Writer): Writer['attempt'] | null {
  const prefix = `${sinkName(writer)}:`;
  const match = name.startsWith(prefix)
    ? /^(\d+):(\d+)\.(\d+)$/.exec(name.slice(prefix.length))
    : null;
  if (match === null) return null;
  const [subtask, epoch, counter] = match.slice(1).map(Number) as [number, number, number];
  const isRival = epoch !== writer.attempt.epoch || subtask === writer.subtask;
  return isRival ? { epoch, counter } : null;
}
