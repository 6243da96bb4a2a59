/**
 * The compare-and-append log: leadership, id counters and checkpoint pointers rest on it. A
 * sequence number goes to exactly one record; whoever finds its next number taken knows that
 * somebody else is ahead, whatever its clock says. Each record holds the whole (small) state, so
 * only the newest is ever read, and older ones may go.
 */
export interface LogEntry {
  /** From 1, without gaps between records that count. */
  readonly sequence: number;
  readonly record: unknown;
}

export interface CompareAndAppendLog {
  /**
   * Takes `sequence` if nobody has it: durable once `appended`. `taken`: somebody else is ahead,
   * and whoever asked is fenced. A rejection means that nothing was appended: an unknown outcome is
   * resolved before this settles, however long that takes. `record` is JSON. A `permanent` record
   * is never compacted away.
   */
  append(
    sequence: number,
    record: unknown,
    options?: { readonly permanent?: boolean },
  ): Promise<'appended' | 'taken'>;

  /** The newest entry; fails with STATE_CORRUPT, naming the file, when that one is damaged. */
  readNewest(): Promise<LogEntry | null>;

  /** Removes entries older than the newest, but for permanent ones. */
  compact(): Promise<void>;

  /** Gives up whatever is still trying to resolve an unknown outcome. */
  close(): void;
}
