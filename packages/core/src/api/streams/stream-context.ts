/**
 * What the stream classes share and keep off their public surface: the graph under construction and
 * the way to wrap a new operator. It breaks the circle of imports between them: only the
 * environment knows the class that `operatorStream` returns.
 */
import type { CallSite } from '../function-checks.ts';
import type { KeySelector, KeyValue } from '../functions.ts';
import { locationOfCaller } from '../location.ts';
import type { MapLocation } from '../location.ts';
import type { StreamGraphBuilder, Upstream } from '../stream-graph-builder.ts';
import type { StreamNode } from '../stream-graph.ts';
import type { SingleOutputStreamOperator } from './single-output-stream-operator.ts';

export interface StreamContext {
  readonly graph: StreamGraphBuilder;
  readonly mapLocation: MapLocation | undefined;
  /** Where `print` writes; `null`: to the log. */
  readonly printLine: ((line: string) => void) | null;
  operatorStream<R>(node: StreamNode): SingleOutputStreamOperator<R>;
}

/** What a stream is made of. */
export interface StreamParts {
  readonly context: StreamContext;
  readonly upstream: readonly Upstream[];
  /** Set on keyed streams. */
  readonly keySelector: KeySelector<unknown, KeyValue> | null;
}

/** Names the call of a public method of `owner`, which must be running. */
export function callSite<O extends object>(
  context: StreamContext,
  owner: O,
  method: keyof O & string,
): CallSite {
  return { operator: method, location: locationOfCaller(owner, method, context.mapLocation) };
}
