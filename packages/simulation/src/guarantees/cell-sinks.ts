/**
 * A sink of every kind over the `CellStore`, each as weak as its kind allows: what it writes at
 * once is there at once, what it does not wait for may arrive never, or twice.
 */
import type { CommitterContext, Sink, SinkWriterContext } from '@weir/core/internal/api/sink';
import { IdempotentSink } from '@weir/core/internal/connectors/idempotent-sink';
import type { IdempotentOutput } from '@weir/core/internal/connectors/idempotent-sink';
import { WriteAheadLogSink } from '@weir/core/internal/connectors/write-ahead-log-sink';
import type { WriteAheadLogTarget } from '@weir/core/internal/connectors/write-ahead-log-sink';
import { batchName } from '@weir/core/internal/connectors/write-ahead-log/checkpoint-committer';
import type { OuterSystem } from '../jobs/outer-system.ts';
import { transactionSink } from '../jobs/transaction-sink.ts';
import { lifeOf } from '../world/simulated-clock.ts';
import type { SinkKind } from './cell.ts';
import type { CellStore, Result } from './cell-store.ts';

/** Longer than a checkpoint takes: what was not acknowledged may still be on its way behind it. */
const ON_ITS_WAY_MS = 25;
const BROKEN_ONE_IN = 10;
/** Between results and their confirmation, where that is separate. */
export const WINDOW_MS = 6;

export function cellSink(
  kind: SinkKind,
  store: CellStore,
  transactions: OuterSystem<Result>,
  keyOf: (result: Result, converges: boolean) => string,
): Sink<Result> {
  switch (kind) {
    case 'unacknowledged':
      return unacknowledged(store);
    case 'plain':
      return plain(store);
    case 'idempotent':
      return new KeySink(store, false, keyOf);
    case 'idempotent-converging':
      return new KeySink(store, true, keyOf);
    case 'write-ahead-log-separate':
      return new LogSink(store, 'separate');
    case 'write-ahead-log-atomic':
      return new LogSink(store, 'atomic');
    case 'two-phase-commit':
      return transactionSink({
        name: kind,
        system: transactions,
        batch: 4,
        beforeCommit: () => undefined,
      });
  }
}

function unacknowledged(store: CellStore): Sink<Result> {
  return {
    name: 'unacknowledged',
    write: 'unacknowledged',
    createWriter: ({ clock }) => ({
      isWritable: true,
      whenWritable: () => Promise.resolve(),
      write: (value) => {
        // A connection that breaks: nobody knows whether it arrived, so it is sent again.
        const copies = store.isOneIn(BROKEN_ONE_IN) ? [value, value] : [value];
        const life = lifeOf(clock);
        const arrive = (): void => store.append('unacknowledged', copies);
        void store.call(life, 'arrive', arrive, ON_ITS_WAY_MS);
      },
      prepareCommit: () => ({ committables: [], writerStates: [], durable: Promise.resolve() }),
      close: () => Promise.resolve(),
    }),
  };
}

function plain(store: CellStore): Sink<Result> {
  return {
    name: 'plain',
    write: 'plain',
    createWriter: ({ clock }) => {
      let last = Promise.resolve();
      return {
        isWritable: true,
        whenWritable: () => Promise.resolve(),
        write: (value) => {
          const append = (): void => store.append('plain', [value]);
          last = last.then(() => store.call(lifeOf(clock), 'append', append, 1));
        },
        prepareCommit: () => ({ committables: [], writerStates: [], durable: last }),
        close: () => last,
      };
    },
  };
}

class KeySink extends IdempotentSink<Result> {
  readonly name: string;
  override readonly converges: boolean;
  override readonly batching = { batchSize: 2, lingerMs: 1 };
  readonly #store: CellStore;
  readonly #keyOf: (result: Result, converges: boolean) => string;

  constructor(
    store: CellStore,
    converges: boolean,
    keyOf: (result: Result, converges: boolean) => string,
  ) {
    super();
    this.name = converges ? 'idempotent-converging' : 'idempotent';
    this.converges = converges;
    this.#store = store;
    this.#keyOf = keyOf;
  }

  protected override connect({ clock }: SinkWriterContext): IdempotentOutput<Result, Result> {
    const keyOf = (result: Result): string => this.#keyOf(result, this.converges);
    return {
      prepare: (value) => value,
      keyOf,
      writeBatch: (writes) =>
        this.#store.call(
          lifeOf(clock),
          'put',
          () => {
            for (const write of writes) this.#store.put(this.name, keyOf(write), write);
          },
          1,
        ),
      close: () => Promise.resolve(),
    };
  }
}

class LogSink extends WriteAheadLogSink<Result> {
  readonly name: string;
  readonly confirmation: 'atomic' | 'separate';
  readonly #store: CellStore;

  constructor(store: CellStore, confirmation: 'atomic' | 'separate') {
    super();
    this.name = `write-ahead-log-${confirmation}`;
    this.confirmation = confirmation;
    this.#store = store;
  }

  protected override connect({ clock }: CommitterContext): WriteAheadLogTarget<Result> {
    const store = this.#store;
    const life = lifeOf(clock);
    const markOf = (batch: Parameters<typeof batchName>[0]): string =>
      `${this.name} ${batchName(batch)}`;
    return {
      output: {
        send: (values, batch) =>
          store.call(life, 'send', () => {
            store.append(this.name, values);
            if (this.confirmation === 'atomic') store.marks.add(markOf(batch));
          }),
        close: () => Promise.resolve(),
      },
      confirmations: {
        isCommitted: (batch) => store.call(life, 'look', () => store.marks.has(markOf(batch))),
        commitCheckpoint: async (batch) => {
          await store.confirm(life, markOf(batch), WINDOW_MS);
        },
      },
    };
  }
}
