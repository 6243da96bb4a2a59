/**
 * Facts that decide what a path from a source to a sink guarantees and that the contracts of
 * `Source` and `Sink` do not ask for. A connector that knows one carries it as a property of the
 * same name.
 */

export interface SinkGuaranteeFacts {
  /** After so long the outer system ends an open transaction. Absent: never. */
  readonly transactionTimeoutMs?: number;
  /**
   * Of a write-ahead log: whether the confirmation is written with the data in one atomic step, or
   * apart from it (default).
   */
  readonly confirmation?: 'atomic' | 'separate';
  /**
   * Of an idempotent sink: whether the last value of a key that is written is the right one,
   * however records of several inputs were interleaved. Default false.
   */
  readonly converges?: boolean;
  /**
   * When results can be read, where they take longer than the checkpoint after their record: ends
   * the sentence `results appear …`.
   */
  readonly resultsAppear?: string;
}

export interface SourceGuaranteeFacts {
  /** What happens to records that cannot be read. Default: the job fails. */
  readonly onMalformed?: 'fail' | 'skip' | 'dead-letter';
}
