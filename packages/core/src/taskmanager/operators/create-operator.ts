/** Makes the operator for a node of the StreamGraph. */
import type { StreamNode } from '../../api/stream-graph.ts';
import { unreachable } from '../../base/assert.ts';
import { BroadcastProcessOperator, KeyedBroadcastProcessOperator } from './broadcast-process.ts';
import { FilterOperator } from './filter.ts';
import { FlatMapOperator } from './flat-map.ts';
import { KeyedCoProcessOperator, KeyedProcessOperator } from './keyed-process.ts';
import { MapOperator } from './map.ts';
import { CoProcessOperator, ProcessOperator } from './process.ts';
import { KeyedAggregateOperator, KeyedReduceOperator } from './rolling-aggregate.ts';
import { SinkOperator } from './sink.ts';
import { SourceOperator } from './source.ts';
import type { OperatorContext, StreamOperator } from './stream-operator.ts';
import { TimestampsOperator } from './timestamps.ts';

export function createOperator(node: StreamNode, context: OperatorContext): StreamOperator {
  const { spec } = node;
  switch (spec.type) {
    case 'source':
      return new SourceOperator(context, spec.source, spec.watermarks);
    case 'map':
      return new MapOperator(context, spec.fn);
    case 'filter':
      return new FilterOperator(context, spec.fn);
    case 'flatMap':
      return new FlatMapOperator(context, spec.fn);
    case 'process':
      return new ProcessOperator(context, spec.fn);
    case 'keyedProcess':
      return new KeyedProcessOperator(context, spec.fn);
    case 'keyedReduce':
      return new KeyedReduceOperator(context, spec.reduce);
    case 'keyedAggregate':
      return new KeyedAggregateOperator(context, spec.aggregate);
    case 'coProcess':
      return new CoProcessOperator(context, spec.fn);
    case 'keyedCoProcess':
      return new KeyedCoProcessOperator(context, spec.fn);
    case 'broadcastProcess':
      return new BroadcastProcessOperator(context, spec.fn, spec.broadcast);
    case 'keyedBroadcastProcess':
      return new KeyedBroadcastProcessOperator(context, spec.fn, spec.broadcast);
    case 'timestamps':
      return new TimestampsOperator(context, spec.strategy);
    case 'sink':
      return new SinkOperator(context, spec.sink);
    default:
      return unreachable(spec);
  }
}

/** Whether the operator works on keys, so that it needs keyed state and timers. */
export function isKeyed(node: StreamNode): boolean {
  return node.spec.type.startsWith('keyed');
}
