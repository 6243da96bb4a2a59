/**
 * The job of a group of cells: two source subtasks, an operator that gets records of both, so that
 * barriers and records can overtake each other, and behind it a sink of every kind.
 */
import { type } from '@weir/core/internal/api/type-markers';
import { job } from '@weir/core/internal/api/job';
import type { Job } from '@weir/core/internal/api/job';
import type { Sink } from '@weir/core/internal/api/sink';
import { listState, valueState } from '@weir/core/internal/api/state-descriptors';
import type { DataStream } from '@weir/core/internal/api/streams/data-stream';
import { SINKS } from './cell.ts';
import type { CellGroup, SinkKind } from './cell.ts';
import { cellSource } from './cell-source.ts';
import type { InputRecord, Wires } from './cell-source.ts';
import type { Result } from './cell-store.ts';

const HOLD_MS = 8;
/** Of event time: fires when the input has ended. */
const END_OF_TIME = 2 ** 50;

export function cellJob(
  { source, operator }: CellGroup,
  wires: Wires,
  sinkOf: (kind: SinkKind) => Sink<Result>,
): Job {
  return job('cells', (env) => {
    const input = env.fromSource(cellSource(source, wires), { uid: 'in' });
    const results = OPERATIONS[operator](input);
    for (const kind of SINKS) results.sinkTo(sinkOf(kind)).uid(kind);
  });
}

type Operation = (input: DataStream<InputRecord>) => DataStream<Result>;

const OPERATIONS: Readonly<Record<CellGroup['operator'], Operation>> = {
  deterministic: (input) =>
    input
      .rebalance()
      .map(({ id, group }) => ({ id, group, n: 0, at: 0 }))
      .uid('operator'),
  'order-dependent': (input) =>
    input
      .keyBy(({ group }) => group)
      .process({
        emits: type<Result>(),
        state: { count: valueState({ default: 0 }) },
        onElement({ id, group }, context) {
          const { count } = context.state;
          count.update(count.value + 1);
          context.emit({ id, group, n: count.value, at: 0 });
        },
      })
      .uid('operator'),
  undetermined: (input) =>
    input
      .keyBy(({ group }) => group)
      .process({
        emits: type<Result>(),
        state: { held: listState<InputRecord>() },
        onElement(value, { state, timerService }) {
          state.held.add(value);
          timerService.registerProcessingTimeTimer(timerService.currentProcessingTime + HOLD_MS);
          timerService.registerEventTimeTimer(END_OF_TIME);
        },
        onTimer(_timestamp, context) {
          const { held } = context.state;
          const at = context.timerService.currentProcessingTime;
          for (const { id, group } of held.get()) context.emit({ id, group, n: 0, at });
          held.clear();
        },
      })
      .uid('operator'),
};

/**
 * What an idempotent sink writes a result under. One that converges is written under what is the
 * same in every replay, as far as there is such a thing.
 */
export function keyOf(
  operator: CellGroup['operator'],
  { id, group, n, at }: Result,
  converges: boolean,
): string {
  if (operator === 'order-dependent') return converges ? group : `${id} as number ${n}`;
  return operator === 'undetermined' ? `${id} at ${at}` : id;
}
