/**
 * What a server must offer before the first record: a version, room for prepared transactions,
 * writes, and tables that fit. Before a run, and for `weir explain`, all that is wrong is told.
 */
import { StorageUnavailableError, WeirError } from '@weir/core';
import type { OuterShare, SinkOuterFacts } from '@weir/core';
import type { Database } from '../client/database.ts';
import type { Session } from '../client/session.ts';
import { inspectTables } from '../table/table-layout.ts';
import type { Target } from '../table/table-layout.ts';

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
 * `prepared`: of a sink that prepares transactions. Whether there is room for them is for the
 * engine to say, which knows all sinks of the job; those of any job with the same prefix count as
 * the sink's own, since its id is not known. Closes the database.
 */
export async function askServer<T>(
  database: Database,
  target: Target<T>,
  prepared: Wanted | null,
): Promise<SinkOuterFacts> {
  const { place } = database;
  try {
    return await database.withSession(async (session) => {
      const server = await settingsOf(session, prepared?.prefix ?? '');
      const outdated = prepared === null ? null : outdatedVersion(server, place);
      if (outdated !== null) return { refusals: [outdated] };
      const tables = await inspectTables(session, place, target);
      const writes = writesOf(server, place);
      return {
        shares: prepared === null ? [] : [shareOf(server, place, prepared)],
        refusals: [...writes.refusals, ...tables.problems],
        warnings: [...writes.warnings, ...tables.warnings],
      };
    });
  } finally {
    await database.close();
  }
}

/**
 * The identifier of the server.
 * @throws WeirError with what to change; of kind `transient` where there would be room without what
 * others use up just now.
 */
export async function checkServer(
  session: Session,
  place: string,
  wanted: Wanted,
): Promise<string> {
  const server = await settingsOf(session, wanted.prefix);
  const outdated = outdatedVersion(server, place);
  if (outdated !== null) throw refused(outdated, {});
  const { max, usedByOthers, needed, reason, remedy } = shareOf(server, place, wanted);
  if (max - usedByOthers >= needed) return server.systemId;
  const message =
    `PostgreSQL at ${place} has ${SETTING} = ${max}` +
    `${usedByOthers > 0 ? `, of which others use ${usedByOthers}` : ''}; this sink needs ` +
    `${needed} (${reason}). Set ${SETTING} to at least ${usedByOthers + needed} ${remedy}`;
  const details = { maxPreparedTransactions: max, needed, usedByOthers };
  if (max < needed) throw refused(message, details);
  throw new StorageUnavailableError(message, { code: 'SINK_UNAVAILABLE', details });
}

interface ServerSettings {
  readonly systemId: string;
  /** `16` */
  readonly version: number;
  readonly max: number;
  readonly usedByOthers: number;
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
  readonly isUnsynced: boolean;
}

async function settingsOf(session: Session, prefix: string): Promise<ServerSettings> {
  const [row] = await session.query('to tell its version and settings', SETTINGS, [`${prefix}-`]);
  return {
    systemId: String(row?.['system_id']),
    version: Math.floor(Number(row?.['version']) / 10_000),
    max: Number(row?.['prepared_max']),
    usedByOthers: Number(row?.['prepared_by_others']),
    isStandby: row?.['is_standby'] === true,
    isReadOnly: row?.['is_read_only'] === 'on',
    isUnsynced: row?.['fsync'] === 'off',
  };
}

function outdatedVersion({ version }: ServerSettings, place: string): string | null {
  if (version >= VERSION_MIN) return null;
  return (
    `PostgreSQL at ${place} has version ${version}, and ${VERSION_MIN} is needed; upgrade it, or ` +
    'use postgresUpsertSink'
  );
}

/** A standby may be promoted while the run waits for it; a setting stays as it is. */
function writesOf(
  { isStandby, isReadOnly, isUnsynced }: ServerSettings,
  place: string,
): { readonly refusals: readonly string[]; readonly warnings: readonly string[] } {
  const refusals: string[] = [];
  const warnings: string[] = [];
  const server = `PostgreSQL at ${place}`;
  if (isStandby)
    warnings.push(
      `${server} is a standby, which takes no writes until it is promoted; connect to the primary`,
    );
  else if (isReadOnly)
    refusals.push(
      `${server} takes no writes, since default_transaction_read_only is on; set it off for the ` +
        'server, the database or the role',
    );
  if (isUnsynced)
    warnings.push(
      `${server} has fsync = off: a crash of its machine loses or damages what it took; set ` +
        'fsync = on',
    );
  return { refusals, warnings };
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
  return new WeirError('user', message, { code: 'SINK_REFUSED', details });
}

const SETTINGS = `
select current_setting('server_version_num') as version,
  current_setting('fsync') as fsync,
  current_setting('max_prepared_transactions') as prepared_max,
  pg_is_in_recovery() as is_standby, current_setting('transaction_read_only') as is_read_only,
  (select count(*)::text from pg_prepared_xacts where not starts_with(gid, $1))
    as prepared_by_others,
  (select system_identifier::text from pg_control_system()) as system_id`;
