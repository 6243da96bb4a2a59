/**
 * Names by which the server lists the sessions of a sink's writers: job, sink, subtask and attempt.
 * A writer that starts ends the sessions of lower attempts: one that was cut off, but not killed,
 * could otherwise write, or prepare, after its successor has begun. A role may end its own sessions
 * without further rights.
 */
import type { ConnectorEnvironment, SinkIdentity, SinkWriterContext } from '@weir/core';
import type { Database } from './client/database.ts';
import { PostgresError } from './client/postgres-errors.ts';

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
  /** Those of this attempt too: one that broke may still be at work on the server. */
  readonly includingOwn?: boolean;
}

/** Resolves when they have ended. @throws PostgresError when they do not. */
export async function endSessions(
  database: Database,
  { clock }: Pick<ConnectorEnvironment, 'clock'>,
  dead: DeadSessions,
): Promise<void> {
  const prefix = `${sinkName(dead.sink)} `;
  const startedAt = clock.now();
  for (;;) {
    const rows = await database.withSession((session) =>
      session.query('looking for sessions of dead attempts', SESSIONS, [prefix]),
    );
    const old = rows.filter((row) => isDead(String(row['name']).slice(prefix.length), dead));
    if (old.length === 0) return;
    if (clock.now() - startedAt > END_LIMIT_MS)
      throw new PostgresError(
        `PostgreSQL at ${database.place} does not end ${old.length} session(s) of dead attempts ` +
          `(${old.map((row) => `process ${String(row['pid'])}`).join(', ')})`,
        { failure: 'transient' },
      );
    await database.withSession((session) =>
      session.query(
        'ending sessions of dead attempts',
        'select pg_terminate_backend(pid) from unnest($1::int[]) as it(pid)',
        [old.map((row) => row['pid'])],
      ),
    );
    await new Promise<void>((resolve) => {
      clock.schedule(LOOK_AGAIN_MS, 'postgres-sessions', resolve);
    });
  }
}

function isDead(text: string, { attempt, subtasks, includingOwn = false }: DeadSessions): boolean {
  const name = parse(text);
  if (name === null || (subtasks !== 'all' && !subtasks.includes(name.subtask))) return false;
  return includingOwn ? !isLower(attempt, name.attempt) : isLower(name.attempt, attempt);
}

function parse(text: string): { readonly subtask: number; readonly attempt: Attempt } | null {
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
