/**
 * How an operator, or an edge into the network, can stand in the code of a generated chain: what
 * the code needs of it. What is not told here is called instead.
 */
import type { KeySelector, KeyValue } from '../../api/functions.ts';
import type { KeyChannels } from '../../network/partitioner.ts';
import type { ResultPartition } from '../../network/result-partition.ts';
import type { KeyedStateBackend } from '../../state/keyed-state-backend.ts';

/** What a generated chain does for one element in place of `processElement`. */
export type InlinedOperator =
  | { readonly kind: 'map'; readonly fn: { map(value: unknown): unknown } }
  | { readonly kind: 'filter'; readonly fn: { filter(value: unknown): boolean } }
  | {
      readonly kind: 'flatMap';
      /** Throws for a result that cannot be gone through. */
      readonly checkIterable: (results: unknown) => void;
      readonly fn: {
        flatMap(value: unknown, emit: (result: unknown) => void): Iterable<unknown> | void;
      };
    }
  | {
      readonly kind: 'process';
      readonly fn: { onElement(value: unknown, context: never): void };
      readonly element: object;
    }
  | {
      readonly kind: 'keyedProcess';
      readonly fn: { onElement(value: unknown, context: never): void };
      readonly element: object;
      readonly keySelector: KeySelector<unknown, KeyValue>;
      readonly backend: KeyedStateBackend;
    }
  | {
      readonly kind: 'source';
      readonly output: InlinedSourceOutput;
      /** The user's function for event time, if there is one. */
      readonly timestampOf: ((value: unknown, sourceTimestamp: number) => unknown) | null;
      /** Whether watermarks are made of event time. */
      readonly hasWatermarks: boolean;
    }
  | {
      readonly kind: 'sink';
      readonly writer: { write(value: unknown, context: never): void };
      readonly element: object;
    };

/** What a source hands to its reader. */
export interface InlinedSourceOutput {
  remaining: number;
  collected: number;
  /** Throws for what the user's function must not return. */
  checkTime(time: unknown): asserts time is number;
  /** A split has come to this time. */
  advance(time: number, splitId: string): void;
  collect(value: unknown, sourceTimestamp: number, splitId: string): void;
}

/** An edge that leaves the chain. */
export interface InlinedEdge {
  readonly partition: ResultPartition;
  /** Of the record, when the edge goes by key. */
  readonly byKey: {
    readonly keySelector: KeySelector<unknown, KeyValue>;
    readonly channels: KeyChannels;
  } | null;
  /** Chooses the channel otherwise. */
  readonly select: (value: unknown) => number;
  readonly counters: { recordsOut: number };
  /** What a key function or partitioner threw, as the task is to see it. */
  readonly failure: (error: unknown) => unknown;
}
