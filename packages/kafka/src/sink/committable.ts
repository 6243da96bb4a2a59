/** A pre-committed transaction: enough to commit it from any process. */
export interface KafkaCommittable {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly epoch: number;
  readonly checkpointId: number;
  /** Never mixed: a commit by protocol 2 changes the epoch, and by 1 does not. */
  readonly protocol: 1;
  /** Milliseconds since the Unix epoch: from here the broker counts its time-out. */
  readonly firstWriteTs: number;
  readonly timeoutMs: number;
  /** What it holds, for messages and for `weir tx list`. */
  readonly contents: readonly {
    readonly topic: string;
    readonly partition: number;
    readonly records: number;
  }[];
}
