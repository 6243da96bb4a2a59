/** The ready bases of sinks stand the cases that every sink must stand; and lies are caught. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchName, IdempotentSink, WriteAheadLogSink } from '@weir/core';
import type { IdempotentOutput, Sink, WriteAheadLogTarget } from '@weir/core';
import { sinkConformance } from '@weir/testing';
import type { ConformanceCase, ConformanceSystem, ProcessGate } from '@weir/testing';

/** Keeps records by key, and which batches are there. */
class Store implements ConformanceSystem<number> {
  readonly records: number[] = [];
  readonly confirmed = new Set<string>();

  visible(): readonly number[] {
    return this.records;
  }

  unfinished(): readonly string[] {
    return [];
  }
}

/** What one that says that its confirmation is atomic may do wrong. */
type LogLie = 'confirms behind the data' | 'writes what is there';

class LogSink extends WriteAheadLogSink<number> {
  readonly name = 'log';
  readonly confirmation: 'atomic' | 'separate';
  readonly #store: Store;
  readonly #gate: ProcessGate;
  readonly #lie: LogLie | null;

  constructor(
    store: Store,
    gate: ProcessGate,
    options: { readonly confirmation: 'atomic' | 'separate'; readonly lie?: LogLie },
  ) {
    super();
    this.#store = store;
    this.#gate = gate;
    this.confirmation = options.confirmation;
    this.#lie = options.lie ?? null;
  }

  protected override connect(): WriteAheadLogTarget<number> {
    const [store, gate] = [this.#store, this.#gate];
    const confirm = (name: string): Promise<unknown> =>
      gate.call(`confirm ${name}`, async () => store.confirmed.add(name));
    return {
      output: {
        send: async (values, batch) => {
          const name = batchName(batch);
          await gate.call(`write ${name}`, async () => {
            if (store.confirmed.has(name) && this.#lie !== 'writes what is there') return;
            store.records.push(...values);
            if (this.confirmation === 'atomic' && this.#lie !== 'confirms behind the data')
              store.confirmed.add(name);
          });
          if (this.#lie === 'confirms behind the data') await confirm(name);
        },
        close: () => Promise.resolve(),
      },
      confirmations: {
        isCommitted: (batch) =>
          gate.call('look', async () => store.confirmed.has(batchName(batch))),
        commitCheckpoint: async (batch) => void (await confirm(batchName(batch))),
      },
    };
  }
}

class KeySink extends IdempotentSink<number> {
  readonly name = 'by key';
  override readonly batching = { batchSize: 2 };
  readonly #store: Store;
  readonly #gate: ProcessGate;
  /** Appends instead of replacing. */
  readonly #lies: boolean;

  constructor(store: Store, gate: ProcessGate, lies = false) {
    super();
    this.#store = store;
    this.#gate = gate;
    this.#lies = lies;
  }

  protected override connect(): IdempotentOutput<number, number> {
    const { records } = this.#store;
    return {
      prepare: (value) => value,
      writeBatch: (writes) =>
        this.#gate.call('write', async () => {
          for (const write of writes)
            if (this.#lies || !records.includes(write)) records.push(write);
        }),
      close: () => Promise.resolve(),
    };
  }
}

type Make = (store: Store, gate: ProcessGate) => Sink<number>;

function casesOf(make: Make): readonly ConformanceCase[] {
  return sinkConformance(make, () => new Store(), { record: (n) => n });
}

const HONEST: Readonly<Record<string, Make>> = {
  'WriteAheadLogSink, atomic': (store, gate) =>
    new LogSink(store, gate, { confirmation: 'atomic' }),
  'WriteAheadLogSink, separate': (store, gate) =>
    new LogSink(store, gate, { confirmation: 'separate' }),
  IdempotentSink: (store, gate) => new KeySink(store, gate),
};

for (const [sink, make] of Object.entries(HONEST))
  for (const { name, run } of casesOf(make)) test(`${sink}: ${name}`, run);

const LIES: Readonly<Record<string, readonly [Make, string]>> = {
  'a confirmation that is called atomic and is not': [
    (store, gate) =>
      new LogSink(store, gate, { confirmation: 'atomic', lie: 'confirms behind the data' }),
    'crash after every step',
  ],
  'an atomic write that does not look at what is there': [
    (store, gate) =>
      new LogSink(store, gate, { confirmation: 'atomic', lie: 'writes what is there' }),
    'fenced attempt',
  ],
  'a write that is called idempotent and is not': [
    (store, gate) => new KeySink(store, gate, true),
    'answer lost at every step',
  ],
};

for (const [lie, [make, name]] of Object.entries(LIES))
  test(`${lie} is caught: ${name}`, async () => {
    const found = casesOf(make).find((it) => it.name === name);
    await assert.rejects(async () => found?.run(), /twice or not expected/);
  });
