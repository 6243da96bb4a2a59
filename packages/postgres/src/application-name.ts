/**
 * Names by which the server lists the sessions of a sink's writers: job, sink, subtask and attempt.
 * A writer that starts ends the sessions of lower attempts: one that was cut off, but not killed,
 * could otherwise write, or prepare, after its successor has begun. A role may end its own sessions
 * without further rights.
 */
import { FencedError } from '@weir/core';
import type { ConnectorEnvironment, SinkIdentity, SinkWriterContext } from '@weir/core';
import type { Database } from './client/database.ts';
import { PostgresError } from './client/postgres-errors.ts';
import type { Row } from './client/session.ts';

export type Attempt = SinkWriterContext['attempt'];

const END_LIMIT_MS = 10_000;
const LOOK_AGAIN_MS = 20;

/** At most 63 bytes, PostgreSQL's limit. */
export function writerName(
  sink: Pick<SinkIdentity, 'jobId' | 'operatorId'>,
  { subtask, attempt }: Pick<SinkWriterContext, 'subtask' | 'attempt'>,
): string {
  return `${sinkName(sink)} ${subtask} ${attempt.epoch}.${attempt.counter}`;
}

export function sinkName({
  jobId,
  operatorId,
}: Pick<SinkIdentity, 'jobId' | 'operatorId'>): string {
  return `weir ${jobId.slice(0, 12)} ${operatorId.slice(0, 12)}`;
}

export function isLower(a: Attempt, b: Attempt): boolean {
  return a.epoch === b.epoch ? a.counter < b.counter : a.epoch < b.epoch;
}

export interface DeadSessions {
  readonly sink: Pick<SinkIdentity, 'jobId' | 'operatorId'>;
  readonly subtasks: readonly number[] | 'all';
  /** Sessions of lower attempts are ended. */
  readonly attempt: Attempt;
  /**
   * For a writer that opens a session: those of its own attempt are ended too, since one that broke
   * may still be at work on the server; and it is refused if a higher attempt has taken over.
   */
  readonly includingOwn?: boolean;
}

/**
 * Resolves when they have ended. One try, which may be carried out again.
 * @throws FencedError, with `includingOwn`, when a session of a higher attempt is there.
 * @throws PostgresError when they do not end.
 */
export async function endSessions(
  database: Database,
  { clock }: Pick<ConnectorEnvironment, 'clock'>,
  dead: DeadSessions,
): Promise<void> {
  const prefix = `${sinkName(dead.sink)} `;
  const startedAt = clock.now();
  for (;;) {
    const session = await database.session();
    const rows = await session.query('looking for sessions of dead attempts', SESSIONS, [prefix]);
    const nameOf = (row: Row): string => String(row['name']).slice(prefix.length);
    const newer = rows.find((row) => isNewer(nameOf(row), dead));
    if (newer !== undefined)
      throw new FencedError(
        `attempt ${dead.attempt.epoch}.${dead.attempt.counter} of a sink finds that a newer one ` +
          `writes to PostgreSQL at ${database.place}: ${nameOf(newer)}`,
      );
    const old = rows.filter((row) => isDead(nameOf(row), dead));
    if (old.length === 0) return;
    if (clock.now() - startedAt > END_LIMIT_MS)
      throw new PostgresError(
        `PostgreSQL at ${database.place} does not end ${old.length} session(s) of dead attempts ` +
          `(${old.map((row) => `process ${String(row['pid'])}`).join(', ')}); end them there ` +
          'with pg_terminate_backend',
        { failure: 'transient' },
      );
    await session.query(
      'ending sessions of dead attempts',
      'select pg_terminate_backend(pid) from unnest($1::int[]) as it(pid)',
      [old.map((row) => row['pid'])],
    );
    await new Promise<void>((resolve) => {
      clock.schedule(LOOK_AGAIN_MS, 'postgres-sessions', resolve);
    });
  }
}

function isDead(text: string, dead: DeadSessions): boolean {
  const other = parse(text);
  if (other === null || !isRival(other, dead)) return false;
  const { attempt, includingOwn = false } = dead;
  return includingOwn ? !isLower(attempt, other.attempt) : isLower(other.attempt, attempt);
}

function isNewer(text: string, dead: DeadSessions): boolean {
  const other = parse(text);
  if (dead.includingOwn !== true || other === null || !isRival(other, dead)) return false;
  return isLower(dead.attempt, other.attempt);
}

/**
 * Whether only one of both may write. Other subtasks of the same process live beside each other; of
 * another process none does, and with another parallelism its keys were with other subtasks.
 */
function isRival(other: SessionName, { attempt, subtasks }: DeadSessions): boolean {
  if (other.attempt.epoch !== attempt.epoch) return true;
  return subtasks === 'all' || subtasks.includes(other.subtask);
}

interface SessionName {
  readonly subtask: number;
  readonly attempt: Attempt;
}

function parse(text: string): SessionName | null {
  const match = /^(\d+) (\d+)\.(\d+)$/.exec(text);
  if (match === null) return null;
  const [subtask = 0, epoch = 0, counter = 0] = match.slice(1).map(Number);
  return { subtask, attempt: { epoch, counter } };
}

/** Of this role alone: sessions of others may not be ended, nor do they show. */
const SESSIONS = `
select pid, application_name as name from pg_stat_activity
where usename = current_user and datname = current_database()
  and starts_with(application_name, $1)`;
