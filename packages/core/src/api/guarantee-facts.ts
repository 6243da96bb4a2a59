/**
 * Facts that decide what a path from a source to a sink guarantees and that the contracts of
 * `Source` and `Sink` do not ask for. A connector that knows one carries it as a property of the
 * same name.
 */
import type { ConnectorEnvironment } from './source.ts';

/** What a sink's outer system allows, and how well it keeps what it takes. */
export interface SinkOuterFacts {
  /** The longest transaction time-out it takes; `null`, or absent: not known, or no such thing. */
  readonly transactionTimeoutMaxMs?: number | null;
  /** The setting that says so, for people. */
  readonly transactionTimeoutMaxName?: string;
  /** Sentences on settings that make less of the guarantee, shown before the run. */
  readonly warnings?: readonly string[];
  /** What the sink uses up of its outer system, which other sinks of the job may use as well. */
  readonly shares?: readonly OuterShare[];
  /** Why the sink will not start: everything that is wrong, each with where and what to change. */
  readonly refusals?: readonly string[];
}

/**
 * A part of something of which an outer system has so many: connections, prepared transactions. The
 * job is refused when the parts of its sinks are more than there are.
 */
export interface OuterShare {
  /** The same for parts of the same thing: an id of the outer system, and the setting. */
  readonly of: string;
  /** For people: `PostgreSQL at host:5432/orders`. */
  readonly place: string;
  /** The setting that says how many there are: `max_prepared_transactions`. */
  readonly setting: string;
  readonly max: number;
  /** Those that are in use now, by anybody but the sink. */
  readonly usedByOthers: number;
  readonly needed: number;
  /** How that comes about: `2 for each of 3 subtasks`. */
  readonly reason: string;
  /** Behind "set … to at least 7": `in postgresql.conf and start the server again`. */
  readonly remedy: string;
}

/** The sink as the job will run it. */
export interface SinkOuterQuestion {
  /** Of the sink itself. */
  readonly parallelism: number;
}

/** What a source's outer system keeps. */
export interface SourceOuterFacts {
  /** For how long a record can be read again; `null`: for ever, or not known. */
  readonly retentionMs: number | null;
  /** The setting that says so, for people: `retention.ms of orders`. */
  readonly retentionName: string;
}

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
  /** What it writes is gone with the process (a console, a variable), so nothing is there twice. */
  readonly isVolatile?: boolean;
  /**
   * Asks the outer system, before a run and for `weir explain`. One try: a system that does not
   * answer is left to the writers. Where it will refuse what the sink is set to, the answer holds
   * `refusals`; or it rejects with an error of kind `user`, if there is nothing else to say.
   */
  askOuterSystem?(
    environment: ConnectorEnvironment,
    question: SinkOuterQuestion,
  ): Promise<SinkOuterFacts>;
}

export interface SourceGuaranteeFacts {
  /** What happens to records that cannot be read. Default: the job fails. */
  readonly onMalformed?: 'fail' | 'skip' | 'dead-letter';
  /** As that of a sink. */
  askOuterSystem?(environment: ConnectorEnvironment): Promise<SourceOuterFacts>;
}
