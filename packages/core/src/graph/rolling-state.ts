/** The one state of `reduce` and `aggregate` on a keyed stream, as snapshots hold it. */
import type { AggregateFunction, ValueStateDescriptor } from '../api/state.ts';

type RollingState = { readonly rolling: ValueStateDescriptor<unknown> };

/** @param aggregate `null`: of a `reduce`, which begins with the first record. */
export function rollingState(
  aggregate: AggregateFunction<unknown, unknown, unknown> | null,
): RollingState {
  if (aggregate === null) return { rolling: { kind: 'value', default: undefined } };
  const first = (): unknown => aggregate.createAccumulator();
  return { rolling: { kind: 'value', default: first, isAccumulator: true } };
}
