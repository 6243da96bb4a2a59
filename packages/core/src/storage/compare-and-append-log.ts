export interface LogEntry {
  readonly sequence: number;
  readonly record: unknown;
}

export interface CompareAndAppendLog {
  /**
   * Takes `sequence` if nobody has it: durable once `appended`. `taken`: somebody else is ahead, and
   * whoever asked is fenced. A rejection means that nothing was appended: an unknown outcome is
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
