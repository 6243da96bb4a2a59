/**
 * What happens to a row that the table does not take: it ends the attempt (the third time in a row
 * the job), is counted, or is counted and written to a dead-letter table, once, with the row, its
 * key and the reason.
 */
import { SerializationError } from '@weir/core';
import type { SinkWriterContext } from '@weir/core';
import type { Session } from '../client/session.ts';
import type { BadRow } from './row-encoder.ts';
import { quotedTable } from './sql-names.ts';
import { unfit } from './table-layout.ts';

export type BadRowPolicy = 'fail' | 'skip' | { readonly deadLetterTable: string };

export class BadRows {
  readonly #policy: BadRowPolicy;
  readonly #metrics: SinkWriterContext['metrics'];
  #counter: ReturnType<SinkWriterContext['metrics']['counter']> | null = null;

  constructor(policy: BadRowPolicy, metrics: SinkWriterContext['metrics']) {
    this.#policy = policy;
    this.#metrics = metrics;
  }

  /** Whether a bad row may be left out and the others kept. */
  get mayPassOver(): boolean {
    return this.#policy !== 'fail';
  }

  /** Before the first record: the dead-letter table must be there. */
  async check(session: Session): Promise<void> {
    if (typeof this.#policy === 'string') return;
    const table = this.#policy.deadLetterTable;
    const [found] = await session.query(`looking for ${table}`, COLUMNS_PRESENT, [
      quotedTable(table),
    ]);
    if (found?.['count'] === '4') return;
    throw unfit(
      table,
      'it should keep rows that cannot be written, and is missing or has other columns; create ' +
        `it: create table ${quotedTable(table)} ` +
        '(id text primary key, target text, reason text, row jsonb)',
    );
  }

  /** Throws unless the row is to be passed over; counts it then. */
  passOver(bad: BadRow): void {
    if (!this.mayPassOver) throw badRowError(bad);
    // Made with the first use, so that a job without bad rows does not show the counter.
    this.#counter ??= this.#metrics.counter('badRows');
    this.#counter.add();
  }

  /** The statement that keeps passed-over rows, for whoever sends it; `null`: they are not kept. */
  deadLetters(entries: readonly DeadLetter[]): DeadLetterStatement | null {
    if (typeof this.#policy === 'string' || entries.length === 0) return null;
    const table = quotedTable(this.#policy.deadLetterTable);
    const values = [
      entries.map(({ id }) => id),
      entries.map(({ bad }) => bad.table),
      entries.map(({ bad }) => `${bad.key}: ${bad.reason}`),
      entries.map(({ bad }) => bad.row),
    ];
    const text =
      `insert into ${table} (id, target, reason, row) ` +
      'select * from unnest($1::text[], $2::text[], $3::text[], $4::jsonb[]) ' +
      'on conflict (id) do nothing';
    return { text, values, what: `writing to ${this.#policy.deadLetterTable}` };
  }
}

export interface DeadLetter {
  /** The same row gets the same id when it is written again. */
  readonly id: string;
  readonly bad: BadRow;
}

export interface DeadLetterStatement {
  readonly what: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

export function badRowError({ table, key, reason, row }: BadRow): SerializationError {
  return new SerializationError(
    `table ${table} does not take the row ${key}: ${reason}; mend the input or the table, or ` +
      'choose what happens to such rows with onBadRow',
    { code: 'RECORD_MALFORMED', details: { position: `${table} ${key}`, table, row } },
  );
}

const COLUMNS_PRESENT = `
select count(*)::text as count from pg_attribute
where attrelid = to_regclass($1) and attname in ('id', 'target', 'reason', 'row')
  and not attisdropped`;
