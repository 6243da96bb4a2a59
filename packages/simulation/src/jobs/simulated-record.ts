/** What flows through simulated jobs. */
export interface SimulatedRecord {
  /** Where it comes from and which way it took: the same in every run, whatever happens. */
  readonly id: string;
  readonly key: number;
  /** Event time. */
  readonly ts: number;
  /** What stateful operators on its way have counted. */
  readonly counts: readonly CountMark[];
}

/** `n` is the place of record `id` among the records of its key in an operator. */
export interface CountMark {
  readonly operator: string;
  readonly key: number;
  readonly id: string;
  readonly n: number;
}

/** The same for the same text, for deterministic choices and for sums over sets of ids. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
