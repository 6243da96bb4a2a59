/**
 * One partition of one topic, with the position next to read. Positions are always numbers:
 * "latest" and timestamps are resolved when the partition is found, and stored before anything is
 * read.
 */
export interface KafkaSplit {
  readonly topic: string;
  /** Tells a topic that was deleted and made anew from the one that was read. */
  readonly topicId: string;
  readonly partition: number;
  /** Offset of the next record to read. */
  readonly next: number;
  /** First offset that is not read any more; `null`: there is no end. */
  readonly stop: number | null;
}

export function splitId({ topic, partition }: Pick<KafkaSplit, 'topic' | 'partition'>): string {
  return `${topic}/${partition}`;
}

export function describeKafkaSplit(split: KafkaSplit): string {
  const end = split.stop === null ? '' : ` of ${split.stop}`;
  return `${splitId(split)} at offset ${split.next}${end}`;
}

/** What the enumerator keeps: every partition it ever found, and those no reader has yet. */
export interface KafkaEnumeratorState {
  readonly found: readonly KafkaSplit[];
  readonly unassigned: readonly KafkaSplit[];
  /** Whether the first discovery is over: later partitions start at their beginning. */
  readonly isStarted: boolean;
}
