/** What a server must offer before the first record: a version, room for prepared transactions. */
import { WeirError } from '@weir/core';
import type { OuterShare, SinkOuterFacts } from '@weir/core';
import type { Database } from '../client/database.ts';
import { asSinkErrors } from '../client/postgres-errors.ts';
import type { Session } from '../client/session.ts';

/** `pg_current_xact_id`, `pg_xact_status` and the type xid8 are there from here on. */
const VERSION_MIN = 13;
/** One that waits for its commit, and one that is prepared meanwhile. */
const PREPARED_PER_SUBTASK = 2;
const SETTING = 'max_prepared_transactions';

export function neededPrepared(parallelism: number): number {
  return PREPARED_PER_SUBTASK * parallelism;
}

interface Wanted {
  readonly prefix: string;
  readonly parallelism: number;
}

/**
 * Before a run, and for `weir explain`: rejects when the writers will refuse the server. Whether
 * there is room for prepared transactions is for the engine to say, which knows all sinks of the
 * job. Those of any job with the same prefix count as the sink's own, since its id is not known.
 */
export async function askServer(database: Database, wanted: Wanted): Promise<SinkOuterFacts> {
  try {
    const server = await asSinkErrors(() =>
      database.withSession((session) => settingsOf(session, database.place, wanted)),
    );
    return { shares: [shareOf(server, database.place, wanted)] };
  } finally {
    await database.close();
  }
}

/** The identifier of the server. @throws WeirError of kind `user` with what to change. */
export async function checkServer(
  session: Session,
  place: string,
  wanted: Wanted,
): Promise<string> {
  const server = await settingsOf(session, place, wanted);
  const { max, usedByOthers, needed, reason, remedy } = shareOf(server, place, wanted);
  if (max - usedByOthers < needed)
    throw refused(
      `PostgreSQL at ${place} has ${SETTING} = ${max}` +
        `${usedByOthers > 0 ? `, of which others use ${usedByOthers}` : ''}; this sink needs ` +
        `${needed} (${reason}). Set ${SETTING} to at least ${usedByOthers + needed} ${remedy}`,
      { maxPreparedTransactions: max, needed, usedByOthers },
    );
  return server.systemId;
}

interface ServerSettings {
  readonly systemId: string;
  readonly max: number;
  readonly usedByOthers: number;
}

async function settingsOf(
  session: Session,
  place: string,
  { prefix }: Wanted,
): Promise<ServerSettings> {
  const [row] = await session.query('to tell its version and settings', SETTINGS, [`${prefix}-`]);
  const version = Math.floor(Number(row?.['version']) / 10_000);
  if (version < VERSION_MIN)
    throw refused(`PostgreSQL at ${place} has version ${version}; ${VERSION_MIN} is needed`, {});
  return {
    systemId: String(row?.['system_id']),
    max: Number(row?.['prepared_max']),
    usedByOthers: Number(row?.['prepared_by_others']),
  };
}

function shareOf(
  { systemId, max, usedByOthers }: ServerSettings,
  place: string,
  { parallelism }: Wanted,
): OuterShare {
  return {
    of: `postgres ${systemId} ${SETTING}`,
    place: `PostgreSQL at ${place}`,
    setting: SETTING,
    max,
    usedByOthers,
    needed: neededPrepared(parallelism),
    reason: `${PREPARED_PER_SUBTASK} for each of ${parallelism} subtasks`,
    remedy: 'in postgresql.conf and start the server again',
  };
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
