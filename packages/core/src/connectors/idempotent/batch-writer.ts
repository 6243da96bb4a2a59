/**
 * The writer of an idempotent sink: collects writes into batches and hands them to the output one
 * at a time. A failure that cannot be retried is kept and thrown by every later call.
 */
import type { PreparedCommit, SinkWriter, SinkWriterContext } from '../../api/sink.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { BatchSettings, IdempotentOutput } from '../idempotent-sink.ts';
import { Retries } from '../retries.ts';

interface Batch<Write> {
  readonly writes: readonly Write[];
  /** Resolves when it is written, or never will be. */
  readonly settled: PromiseWithResolvers<void>;
}

export class BatchWriter<T, Write> implements SinkWriter<T, never, never> {
  readonly #clock: Clock;
  readonly #output: IdempotentOutput<T, Write>;
  readonly #retries: Retries;
  readonly #batchSize: number;
  readonly #lingerMs: number;
  readonly #bufferRecords: number;
  /** By key; by a running number where the output has no keys. */
  #filling = new Map<string | number, Write>();
  /** The first is being written. */
  #queue: Batch<Write>[] = [];
  #queued = 0;
  #linger: Timer | null = null;
  #failure: { readonly error: unknown } | null = null;

  constructor(
    context: Pick<SinkWriterContext, 'clock' | 'logger' | 'signal'>,
    output: IdempotentOutput<T, Write>,
    settings: BatchSettings & { readonly name: string },
  ) {
    this.#clock = context.clock;
    this.#output = output;
    const { name, retryForMs = 60_000 } = settings;
    this.#retries = new Retries(context, { name, retryForMs });
    this.#batchSize = settings.batchSize ?? 1000;
    this.#lingerMs = settings.lingerMs ?? 5;
    this.#bufferRecords = settings.bufferRecords ?? 10 * this.#batchSize;
  }

  async open(): Promise<void> {
    await this.#output.open?.();
  }

  get isWritable(): boolean {
    if (this.#failure !== null) throw this.#failure.error;
    return this.#queued + this.#filling.size < this.#bufferRecords;
  }

  async whenWritable(): Promise<void> {
    while (!this.isWritable) {
      if (this.#queue.length === 0) this.#flush();
      await this.#queue[0]?.settled.promise;
    }
  }

  write(value: T, context: { readonly timestamp: number; readonly watermark: number }): void {
    if (this.#failure !== null) throw this.#failure.error;
    const write = this.#output.prepare(value, context);
    if (write === null) return;
    this.#filling.set(this.#output.keyOf?.(write) ?? this.#filling.size, write);
    if (this.#filling.size >= this.#batchSize) this.#flush();
    else if (this.#linger === null) this.#startLinger();
  }

  prepareCommit(): PreparedCommit<never, never> {
    this.#flush();
    return { committables: [], writerStates: [], durable: this.#allWritten() };
  }

  async close(): Promise<void> {
    this.#retries.close();
    this.#linger?.cancel();
    // What is on its way must have arrived before another attempt writes the same keys.
    this.#queue.splice(1);
    await this.#queue[0]?.settled.promise;
    await this.#output.close();
  }

  /** Waits for what is queued now, not for what comes later. */
  async #allWritten(): Promise<void> {
    await this.#queue.at(-1)?.settled.promise;
    if (this.#failure !== null) throw this.#failure.error;
  }

  #startLinger(): void {
    this.#linger = this.#clock.schedule(this.#lingerMs, 'sink-linger', () => {
      this.#linger = null;
      // While a batch is on its way the next one fills; it goes when that one has arrived.
      if (this.#queue.length === 0) this.#flush();
      else this.#startLinger();
    });
  }

  #flush(): void {
    this.#linger?.cancel();
    this.#linger = null;
    if (this.#filling.size === 0) return;
    const entries = [...this.#filling];
    this.#filling = new Map();
    if (this.#output.keyOf !== undefined) entries.sort(([a], [b]) => (a < b ? -1 : 1));
    const writes = entries.map(([, write]) => write);
    this.#queue.push({ writes, settled: Promise.withResolvers() });
    this.#queued += writes.length;
    if (this.#queue.length === 1) void this.#writeQueue();
  }

  async #writeQueue(): Promise<void> {
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      try {
        await this.#retries.run(() => this.#output.writeBatch(next.writes));
        this.#queue.shift();
        this.#queued -= next.writes.length;
        next.settled.resolve();
      } catch (error) {
        this.#failure = { error };
        for (const batch of this.#queue.splice(0)) batch.settled.resolve();
      }
    }
  }
}
