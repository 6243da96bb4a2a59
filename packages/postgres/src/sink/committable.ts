/** A prepared transaction: enough to commit it, and to learn its outcome, from any process. */
export interface PostgresCommittable {
  /** Its name in `pg_prepared_xacts`. */
  readonly gid: string;
  /** 64 bits as text, taken before it was prepared: the server remembers its outcome by it. */
  readonly xid: string;
  /** Tells servers apart: on another one the same number is another transaction. */
  readonly systemId: string;
  readonly checkpointId: number;
  /** What it holds, for messages and for `weir tx list`. */
  readonly table: string;
  readonly rows: number;
}
