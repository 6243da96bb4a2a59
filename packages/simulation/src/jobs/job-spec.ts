/** A job as data: what the graph is made of, drawn at random, built and recounted from the same. */
export interface SplitSpec {
  readonly id: string;
  readonly count: number;
  /** Event time of the first record, and from one to the next. */
  readonly firstTs: number;
  readonly stepTs: number;
}

export interface SourceSpec {
  readonly type: 'source';
  readonly name: string;
  readonly splits: readonly SplitSpec[];
  readonly keys: number;
  /** Records at once, and the pause until the next. */
  readonly burst: number;
  readonly pauseMs: number;
  /** `null`: the job's. */
  readonly parallelism: number | null;
  readonly idlenessMs: number | null;
  /**
   * `first`: a reader gets all its splits before it reads, so no record is late; `asked`: one by
   * one, whoever asks.
   */
  readonly assignment: 'first' | 'asked';
  /** `files`: the splits are files, read by the engine's own source. */
  readonly reader: 'simulated' | 'files';
  /** Of the simulated reader: its splits in turn, and not in the order of their records' time. */
  readonly readsInTurn?: boolean;
  /** Of the simulated enumerator: it cannot take splits back, and fails the job. */
  readonly failsOnReturn?: boolean;
}

export type OperatorKind =
  | 'map'
  | 'filter'
  | 'flatMap'
  | 'coin'
  | 'fragile'
  | 'count'
  | 'aggregate'
  | 'window'
  | 'hold'
  | 'session'
  | 'buffer'
  | 'owners'
  | 'all'
  | 'union'
  | 'join'
  | 'rules'
  /** Keyed state that a later version of the job declares in another form. */
  | 'versioned';

export interface OperatorSpec {
  readonly type: 'operator';
  readonly kind: OperatorKind;
  readonly name: string;
  /** Streams, by their place in the job; `union`, `join` and `rules` have two. */
  readonly inputs: readonly number[];
  readonly parallelism: number | null;
  readonly partition: 'none' | 'rebalance' | 'shuffle' | 'rescale';
  readonly startsChain: boolean;
  /** Size of a window, of a buffer, length of a hold or a session. */
  readonly size: number;
}

export interface SinkSpec {
  readonly name: string;
  readonly input: number;
  readonly kind: 'transactions' | 'kafka' | 'files' | 'plain';
  readonly parallelism: number | null;
  /** Records in one write, bytes of a part. */
  readonly size: number;
}

export interface JobSpec {
  readonly name: string;
  readonly streams: readonly (SourceSpec | OperatorSpec)[];
  readonly sinks: readonly SinkSpec[];
  readonly chaining: boolean;
}
