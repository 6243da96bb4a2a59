/**
 * What happens to a row that the table does not take: it ends the attempt (the third time in a row
 * the job), is counted, or is counted and written to a dead-letter table, once, with the row, its
 * key and the reason. The first that is passed over is told in the log.
 */
import { SerializationError } from '@weir/core';
import type { SinkWriterContext } from '@weir/core';
import type { BadRow } from './row-encoder.ts';
import { quotedTable } from './sql-names.ts';

export type BadRowPolicy = 'fail' | 'skip' | { readonly deadLetterTable: string };

export function deadLetterTableOf(policy: BadRowPolicy): string | null {
  return typeof policy === 'string' ? null : policy.deadLetterTable;
}

export class BadRows {
  readonly #policy: BadRowPolicy;
  readonly #context: Pick<SinkWriterContext, 'metrics' | 'logger'>;
  #counter: ReturnType<SinkWriterContext['metrics']['counter']> | null = null;

  constructor(policy: BadRowPolicy, context: Pick<SinkWriterContext, 'metrics' | 'logger'>) {
    this.#policy = policy;
    this.#context = context;
  }

  /** Whether a bad row may be left out and the others kept. */
  get mayPassOver(): boolean {
    return this.#policy !== 'fail';
  }

  /** Throws unless the row is to be passed over; counts it then. */
  passOver(bad: BadRow): void {
    if (!this.mayPassOver) throw badRowError(bad);
    if (this.#counter === null) this.#tell(bad);
    // Made with the first use, so that a job without bad rows does not show the counter.
    this.#counter ??= this.#context.metrics.counter('badRows');
    this.#counter.add();
  }

  #tell({ where, key, reason }: BadRow): void {
    const kept = deadLetterTableOf(this.#policy);
    this.#context.logger.log(
      'warn',
      `${where} does not take the row ${key}: ${reason}; it is left out` +
        `${kept === null ? '' : ` and kept in ${kept}`}, by onBadRow. Further ones are counted ` +
        'in badRows',
    );
  }

  /** The statement that keeps passed-over rows, for whoever sends it; `null`: they are not kept. */
  deadLetters(entries: readonly DeadLetter[]): DeadLetterStatement | null {
    if (typeof this.#policy === 'string' || entries.length === 0) return null;
    const table = quotedTable(this.#policy.deadLetterTable);
    const values = [
      entries.map(({ id }) => id),
      entries.map(({ bad }) => bad.table),
      entries.map(({ bad }) => storable(`${bad.key}: ${bad.reason}`)),
      entries.map(({ bad }) => bad.row),
    ];
    const text =
      `insert into ${table} (id, target, reason, row) ` +
      'select * from unnest($1::text[], $2::text[], $3::text[], $4::jsonb[]) ' +
      'on conflict (id) do nothing';
    return { text, values, what: `writing to ${this.#policy.deadLetterTable}` };
  }
}

/** Without the one character that PostgreSQL does not keep. */
function storable(text: string): string {
  return text.replaceAll('\0', '\\0');
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

function badRowError({ table, where, key, reason, row }: BadRow): SerializationError {
  return new SerializationError(
    `${where} does not take the row ${key}: ${reason}; mend the input or the table, or have such ` +
      'rows left out or kept elsewhere with onBadRow',
    { code: 'RECORD_MALFORMED', details: { position: `${table} ${key}`, table, row } },
  );
}
