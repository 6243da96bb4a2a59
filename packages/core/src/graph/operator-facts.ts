/** What is known of an operator before it runs: whether it is keyed, and which states it keeps. */
import type { BroadcastDeclaration } from '../api/functions.ts';
import type { StateDeclaration, StateDescriptor } from '../api/state.ts';
import type { OperatorSpec, StreamNode } from '../api/stream-graph.ts';
import type { Sink } from '../api/sink.ts';

/** A state by the name under which snapshots hold it. */
export interface DeclaredState {
  readonly name: string;
  readonly kind: StateKind;
}

export type StateKind =
  | 'value'
  | 'list'
  | 'map'
  | 'reducing'
  | 'aggregating'
  | 'operator list'
  | 'union list'
  | 'broadcast'
  | 'timers';

interface FunctionFacts {
  readonly state?: StateDeclaration;
  readonly onTimer?: unknown;
}

/** Works on keys, so its state lies in key groups. */
export function isKeyed(spec: OperatorSpec): boolean {
  return spec.type.startsWith('keyed');
}

/** Has state that must find its operator again. */
export function isStateful(spec: OperatorSpec): boolean {
  return isKeyed(spec) || statesOf(spec).length > 0;
}

/** All states of an operator, the engine's own among them. */
export function statesOf(spec: OperatorSpec): readonly DeclaredState[] {
  switch (spec.type) {
    case 'source':
      return [{ name: 'splits', kind: 'operator list' }];
    case 'sink':
      return statesOfSink(spec.sink);
    case 'keyedReduce':
    case 'keyedAggregate':
      return [{ name: 'rolling', kind: 'value' }];
    default:
      return statesOfFunction(spec);
  }
}

/** A sink that commits remembers what it has prepared; another forgets nothing that counts. */
function statesOfSink(sink: Sink<unknown>): readonly DeclaredState[] {
  const commits = sink.write === 'two-phase-commit' || sink.write === 'write-ahead-log';
  if (sink.createCommitter === undefined && !commits) return [];
  return [
    { name: 'writer', kind: 'operator list' },
    { name: 'committables', kind: 'operator list' },
  ];
}

function statesOfFunction(spec: OperatorSpec): readonly DeclaredState[] {
  // What a function has beside its types' methods shows only at run time.
  const fn: FunctionFacts = 'fn' in spec ? (spec.fn as FunctionFacts) : {};
  const broadcast: BroadcastDeclaration = 'broadcast' in spec ? spec.broadcast : {};
  const states = Object.entries({ ...fn.state, ...broadcast }).map(([name, descriptor]) => ({
    name,
    kind: kindOf(descriptor),
  }));
  return fn.onTimer === undefined ? states : [...states, { name: 'timers', kind: 'timers' }];
}

function kindOf(descriptor: StateDescriptor): StateKind {
  if (descriptor.kind !== 'operatorList') return descriptor.kind;
  return descriptor.mode === 'union' ? 'union list' : 'operator list';
}

/** `"totals" (orders.ts:14)`: an operator in a message. */
export function describeNode({ name, uid, location }: StreamNode): string {
  return `"${uid ?? name}"${location === null ? '' : ` (${location})`}`;
}
