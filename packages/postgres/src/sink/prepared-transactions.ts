/**
 * Ends prepared transactions and finds out what became of them. COMMIT PREPARED of a name that is
 * not there says nothing about why: it was committed, rolled back, or never was. The transaction's
 * number, taken before it was prepared, settles it, since PostgreSQL keeps the outcome of every
 * transaction until its number is frozen (after hundreds of millions of others):
 *
 *   server         prepared    status of the number   what happened
 *   another one    —           —                      unknown: cannot be proven here
 *   ours           yes         in progress            pending
 *   ours           no          committed              committed
 *   ours           no          aborted                rolled back by somebody
 *   ours           no          in progress            ending this moment: ask again
 *   ours           no          of the future          lost: the server was set back in time
 *   ours           no          forgotten              unknown: too old to be proven
 */
import type { CommittableStatus } from '@weir/core';
import type { Database } from '../client/database.ts';
import {
  NOT_IN_PREREQUISITE_STATE,
  PostgresError,
  UNDEFINED_OBJECT,
} from '../client/postgres-errors.ts';
import type { Session } from '../client/session.ts';
import { literal } from '../table/sql-names.ts';
import type { PostgresCommittable } from './committable.ts';

export type TransactionOutcome =
  | 'committed'
  | 'pending'
  | 'rolled-back'
  | 'set-back'
  | 'other-server'
  | 'forgotten';

/** Commits, or tells why that cannot be. Idempotent. */
export function commitPrepared(
  database: Database,
  committable: PostgresCommittable,
): Promise<TransactionOutcome> {
  const { gid } = committable;
  return database.withSession(async (session) => {
    try {
      await session.query(`to commit ${gid}`, `commit prepared ${literal(gid)}`);
      return 'committed';
    } catch (error) {
      if (isBusy(error)) throw beingEnded(database, gid, error);
      if (!isUndefined(error)) throw error;
    }
    const outcome = await readOutcome(session, committable);
    if (outcome !== 'pending') return outcome;
    throw beingEnded(database, gid, null);
  });
}

/** What became of a transaction, without changing it. */
export function outcomeOf(
  database: Database,
  committable: PostgresCommittable,
): Promise<TransactionOutcome> {
  return database.withSession((session) => readOutcome(session, committable));
}

/** Idempotent: one that is not there has been rolled back, or never was. */
export function rollBackPrepared(database: Database, gid: string): Promise<void> {
  return database.withSession(async (session) => {
    try {
      await session.query(`to roll back ${gid}`, `rollback prepared ${literal(gid)}`);
    } catch (error) {
      if (isBusy(error)) throw beingEnded(database, gid, error);
      if (!isUndefined(error)) throw error;
    }
  });
}

/** Names of the prepared transactions of this database that begin so, the oldest first. */
export function preparedNames(database: Database, prefix: string): Promise<readonly string[]> {
  return database.withSession(async (session) => {
    const rows = await session.query('to list prepared transactions', PREPARED, [`${prefix}-`]);
    return rows.map((row) => String(row['gid']));
  });
}

export function statusOf(outcome: TransactionOutcome): CommittableStatus {
  return outcome === 'committed' || outcome === 'pending' ? outcome : 'gone';
}

async function readOutcome(
  session: Session,
  { gid, xid, systemId }: PostgresCommittable,
): Promise<TransactionOutcome> {
  const what = `to tell what became of ${gid}`;
  const [row] = await session.query(what, OUTCOME, [gid, xid]);
  if (row?.['system_id'] !== systemId) return 'other-server';
  if (row['is_prepared'] === true) return 'pending';
  switch (row['status']) {
    case 'committed':
      return 'committed';
    case 'in progress':
      return 'pending';
    case 'aborted':
      return 'rolled-back';
    case 'of the future':
      return 'set-back';
    default:
      return 'forgotten';
  }
}

function isUndefined(error: unknown): boolean {
  return error instanceof PostgresError && error.server?.sqlState === UNDEFINED_OBJECT;
}

/** A session is at it, perhaps one that was cut off in the middle and waits for a standby. */
function isBusy(error: unknown): boolean {
  return error instanceof PostgresError && error.server?.sqlState === NOT_IN_PREREQUISITE_STATE;
}

function beingEnded({ place }: Database, gid: string, cause: unknown): PostgresError {
  const message =
    `PostgreSQL at ${place}: transaction ${gid} is being ended by another session; what became ` +
    'of it is asked again';
  return new PostgresError(message, { failure: 'transient', cause });
}

const PREPARED = `
select gid from pg_prepared_xacts
where database = current_database() and starts_with(gid, $1) order by prepared, gid`;

const OUTCOME = `
select (select system_identifier::text from pg_control_system()) as system_id,
  exists (select from pg_prepared_xacts where gid = $1) as is_prepared,
  case when $2::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) then 'of the future'
    else pg_xact_status($2::xid8) end as status`;
