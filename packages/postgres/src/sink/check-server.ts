/** What a server must offer before the first record: a version, room for prepared transactions. */
import { WeirError } from '@weir/core';
import type { SinkOuterFacts } from '@weir/core';
import type { Database } from '../client/database.ts';
import { asSinkErrors } from '../client/postgres-errors.ts';
import type { Session } from '../client/session.ts';

/** `pg_current_xact_id`, `pg_xact_status` and the type xid8 are there from here on. */
const VERSION_MIN = 13;
/** One that waits for its commit, and one that is prepared meanwhile. */
const PREPARED_PER_SUBTASK = 2;

export function neededPrepared(parallelism: number): number {
  return PREPARED_PER_SUBTASK * parallelism;
}

/**
 * Before a run, and for `weir explain`: rejects when the writers will refuse the server. Prepared
 * transactions of any job with the same prefix count as the sink's own, since its id is not known.
 */
export async function askServer(
  database: Database,
  wanted: Parameters<typeof checkServer>[2],
): Promise<SinkOuterFacts> {
  try {
    await asSinkErrors(() =>
      database.withSession((session) => checkServer(session, database.place, wanted)),
    );
    return {};
  } finally {
    await database.close();
  }
}

/** The identifier of the server. @throws WeirError of kind `user` with what to change. */
export async function checkServer(
  session: Session,
  place: string,
  { prefix, parallelism }: { readonly prefix: string; readonly parallelism: number },
): Promise<string> {
  const [row] = await session.query('to tell its version and settings', SETTINGS, [`${prefix}-`]);
  const version = Math.floor(Number(row?.['version']) / 10_000);
  if (version < VERSION_MIN)
    throw refused(`PostgreSQL at ${place} has version ${version}; ${VERSION_MIN} is needed`, {});
  const needed = neededPrepared(parallelism);
  const [max, others] = [Number(row?.['prepared_max']), Number(row?.['prepared_by_others'])];
  if (max - others < needed)
    throw refused(
      `PostgreSQL at ${place} has max_prepared_transactions = ${max}` +
        `${others > 0 ? `, of which others use ${others}` : ''}; this sink needs ${needed} (2 ` +
        `for each of ${parallelism} subtasks). Set max_prepared_transactions to at least ` +
        `${others + needed} in postgresql.conf and start the server again`,
      { maxPreparedTransactions: max, needed, usedByOthers: others },
    );
  return String(row?.['system_id']);
}

function refused(message: string, details: Readonly<Record<string, unknown>>): WeirError {
  return new WeirError('user', message, { code: 'SINK_UNAVAILABLE', details });
}

const SETTINGS = `
select current_setting('server_version_num') as version,
  current_setting('max_prepared_transactions') as prepared_max,
  (select count(*)::text from pg_prepared_xacts where not starts_with(gid, $1))
    as prepared_by_others,
  (select system_identifier::text from pg_control_system()) as system_id`;
