/** A two-phase-commit sink into the outer system, by the contract of `Sink` and nothing else. */
import type { CommitterContext, Sink, SinkWriterContext } from '@weir/core/internal/api/sink';
import { attemptName, compareAttempts } from '@weir/core/internal/base/ids';
import { lifeOf } from '../world/simulated-clock.ts';
import type { OuterSystem } from './outer-system.ts';
import type { SimulatedRecord } from './simulated-record.ts';

interface Committable {
  readonly id: string;
  readonly checkpointId: number;
}

export interface TransactionSinkOptions {
  readonly name: string;
  readonly system: OuterSystem;
  /** Records written in one call. */
  readonly batch: number;
  /** Told before a commit. */
  readonly beforeCommit: (checkpointId: number) => void;
}

export function transactionSink(
  options: TransactionSinkOptions,
): Sink<SimulatedRecord, never, Committable> {
  const { name } = options;
  return {
    name,
    write: 'two-phase-commit',
    createWriter: (context) => createWriter(context, options),
    createCommitter: (context) => createCommitter(context, options),
  };
}

function createWriter(
  context: SinkWriterContext,
  { name, system, batch }: TransactionSinkOptions,
): ReturnType<Sink<SimulatedRecord, never, Committable>['createWriter']> {
  const mine = lifeOf(context.clock);
  const { subtask, attempt } = context;
  let count = 0;
  let buffer: SimulatedRecord[] = [];
  let isBegun = false;
  let calls: Promise<void> = Promise.resolve();
  const idOf = (): string => `${name}-${subtask}-${attemptName(attempt)}-${count}`;
  const flush = (): void => {
    const transaction = { id: idOf(), sink: name, subtask, attempt, records: buffer };
    buffer = [];
    isBegun = true;
    calls = calls.then(() => system.write(mine, transaction));
    calls.catch(() => undefined);
  };
  return {
    isWritable: true,
    whenWritable: () => Promise.resolve(),
    write(value) {
      buffer.push(value);
      if (buffer.length >= batch) flush();
    },
    prepareCommit({ checkpointId }) {
      if (buffer.length > 0) flush();
      if (!isBegun) return { committables: [], writerStates: [], durable: calls };
      const id = idOf();
      count++;
      isBegun = false;
      const durable = calls.then(() => system.prepare(mine, id));
      calls = durable;
      calls.catch(() => undefined);
      return { committables: [{ id, checkpointId }], writerStates: [], durable };
    },
    close: () => calls.catch(() => undefined),
  };
}

function createCommitter(
  context: CommitterContext,
  { name, system, beforeCommit }: TransactionSinkOptions,
): NonNullable<ReturnType<NonNullable<Sink<unknown, never, Committable>['createCommitter']>>> {
  const mine = lifeOf(context.clock);
  const commit = async (committables: readonly Committable[]): Promise<void> => {
    for (const { id, checkpointId } of committables) {
      beforeCommit(checkpointId);
      await system.commit(mine, id);
    }
  };
  return {
    commit,
    async probe({ id }) {
      const state = await system.probe(mine, id);
      if (state === 'committed') return 'committed';
      return state === 'prepared' ? 'pending' : 'gone';
    },
    async recover({ committables, attempt, subtasks }) {
      const named = new Set(committables.map(({ id }) => id));
      await system.fence(mine, { sink: name, attempt, subtasks });
      await commit(committables);
      for (const transaction of await system.list(mine, name)) {
        if (named.has(transaction.id)) continue;
        if (compareAttempts(transaction.attempt, attempt) >= 0) continue;
        if (subtasks !== 'all' && !subtasks.includes(transaction.subtask)) continue;
        await system.abort(mine, transaction.id);
      }
    },
    close: () => Promise.resolve(),
  };
}
