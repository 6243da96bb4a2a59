/**
 * The plain record of what the user's calls asked for: nodes with their functions, edges with
 * their partitioner. Built anew by every attempt of every subtask; `graph/` compiles it.
 */
import type {
  FilterFunction,
  FlatMapFunction,
  KeySelector,
  KeyValue,
  MapFunction,
  Partitioner,
  ProcessFunction,
  KeyedProcessFunction,
  CoProcessFunction,
  KeyedCoProcessFunction,
  BroadcastProcessFunction,
  KeyedBroadcastProcessFunction,
  BroadcastDeclaration,
  Reduce,
  WatermarkStrategy,
} from './functions.ts';
import type { AggregateFunction } from './state.ts';
import type { Sink } from './sink.ts';
import type { Source } from './source.ts';

/** `unknown` in place of the user's record types: the graph does not look into records. */
type U = unknown;

export type OperatorSpec =
  | {
      readonly type: 'source';
      readonly source: Source<U>;
      readonly watermarks: WatermarkStrategy<U>;
    }
  | { readonly type: 'map'; readonly fn: MapFunction<U, U> }
  | { readonly type: 'filter'; readonly fn: FilterFunction<U> }
  | { readonly type: 'flatMap'; readonly fn: FlatMapFunction<U, U> }
  | { readonly type: 'process'; readonly fn: ProcessFunction<U, U> }
  | { readonly type: 'keyedProcess'; readonly fn: KeyedProcessFunction<KeyValue, U, U> }
  | { readonly type: 'keyedReduce'; readonly reduce: Reduce<U> }
  | { readonly type: 'keyedAggregate'; readonly aggregate: AggregateFunction<U, U, U> }
  | { readonly type: 'coProcess'; readonly fn: CoProcessFunction<U, U, U> }
  | {
      readonly type: 'keyedCoProcess';
      readonly fn: KeyedCoProcessFunction<KeyValue, U, U, U>;
    }
  | {
      readonly type: 'broadcastProcess';
      readonly fn: BroadcastProcessFunction<U, U, U, BroadcastDeclaration>;
      readonly broadcast: BroadcastDeclaration;
    }
  | {
      readonly type: 'keyedBroadcastProcess';
      readonly fn: KeyedBroadcastProcessFunction<KeyValue, U, U, U, BroadcastDeclaration>;
      readonly broadcast: BroadcastDeclaration;
    }
  | { readonly type: 'timestamps'; readonly strategy: WatermarkStrategy<U> }
  | { readonly type: 'sink'; readonly sink: Sink<U> };

export type PartitionerSpec =
  | { readonly type: 'forward' }
  | { readonly type: 'rebalance' }
  | { readonly type: 'rescale' }
  | { readonly type: 'shuffle' }
  | { readonly type: 'broadcast' }
  | { readonly type: 'global' }
  | { readonly type: 'hash'; readonly keySelector: KeySelector<U, KeyValue> }
  | {
      readonly type: 'custom';
      readonly partitioner: Partitioner<U>;
      readonly keySelector: (value: U) => U;
    };

/** `always` chains where possible, `head` starts a new chain, `never` stands alone. */
export type ChainingPolicy = 'always' | 'head' | 'never';

export interface StreamNode {
  /** Place in the order of the user's calls, from 0. */
  readonly id: number;
  readonly spec: OperatorSpec;
  name: string;
  /** The name was given by the user; else it says what kind of operator it is. */
  isNamed?: boolean;
  uid: string | null;
  /** Operator id given outright, 32 hexadecimal digits. */
  uidHash: string | null;
  /** `null`: the job's default. */
  parallelism: number | null;
  maxParallelism: number | null;
  chaining: ChainingPolicy;
  slotSharingGroup: string | null;
  /** Key selectors by input index, for keyed operators. */
  readonly keySelectors: readonly (KeySelector<U, KeyValue> | null)[];
  /** Where the user's code made it: `orders.ts:14`. */
  readonly location: string | null;
}

export interface StreamEdge {
  readonly source: number;
  readonly target: number;
  /** 0, or 1 for the second input of a connected operator. */
  readonly inputIndex: 0 | 1;
  /** `null`: forward when parallelisms are equal, else rebalance. */
  readonly partitioner: PartitionerSpec | null;
  /** Id of the side output that feeds this edge; `null` for the main output. */
  readonly sideOutput: string | null;
}

export interface StreamGraph {
  readonly jobName: string;
  readonly nodes: readonly StreamNode[];
  readonly edges: readonly StreamEdge[];
}
