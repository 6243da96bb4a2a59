/**
 * A worker thread for each slot. A thread that dies (an uncaught error, memory, a stall that went
 * on for too long) is reported and replaced; its rings are new with it, since a dead writer may
 * have left half a frame behind. The main thread watches the others: one that stands still in a
 * user's function cannot speak for itself.
 */
import { Worker } from 'node:worker_threads';
import type { Configuration } from '../base/configuration.ts';
import { fromErrorInfo, isWeirError, messageOf, WeirError } from '../base/errors.ts';
import type { JobId } from '../base/ids.ts';
import type { Random } from '../base/random.ts';
import { createRingBuffer } from '../network/shared-ring.ts';
import { createSignalBuffer } from '../network/thread-signal.ts';
import type { JobGraph } from '../protocol/job-graph.ts';
import type { TaskManagerMessage } from '../protocol/messages.ts';
import type { Slots, SlotsListener } from './slots.ts';
import { StallWatch } from './stall-watch.ts';
import type {
  FromSlotThread,
  LinkBuffers,
  SlotThreadData,
  ToSlotThread,
} from './thread-contract.ts';

export interface SlotThreadsOptions {
  readonly slotCount: number;
  readonly jobId: JobId;
  readonly jobGraph: JobGraph;
  readonly bundleUrl: string;
  readonly arguments: readonly string[];
  /** Given at the start; the job's code adds its own below. */
  readonly configuration: Configuration;
  readonly random: Random;
  readonly stallWarningMs: number;
  /** `null`: a thread that stands still is never given up. */
  readonly stallTimeoutMs: number | null;
}

interface SlotThread {
  readonly worker: Worker;
  readonly signal: SharedArrayBuffer;
  readonly active: SharedArrayBuffer;
  readonly ready: PromiseWithResolvers<void>;
  /** Messages that came before the thread was ready. */
  queue: TaskManagerMessage[] | null;
  isLost: boolean;
}

export class SlotThreads implements Slots {
  readonly #options: SlotThreadsOptions;
  readonly #threads: SlotThread[] = [];
  readonly #signals: SharedArrayBuffer[];
  #listener: SlotsListener | null = null;
  #watch: StallWatch | null = null;
  #isClosed = false;

  constructor(options: SlotThreadsOptions) {
    this.#options = options;
    this.#signals = Array.from({ length: options.slotCount }, () => createSignalBuffer());
  }

  async start(listener: SlotsListener): Promise<void> {
    this.#listener = listener;
    const { slotCount, jobGraph, stallWarningMs, stallTimeoutMs } = this.#options;
    const rings = ringMatrix(slotCount);
    for (let slot = 0; slot < slotCount; slot++)
      this.#threads[slot] = this.#spawn(slot, this.#linksOf(slot, rings));
    this.#watch = new StallWatch({
      jobGraph,
      warningMs: stallWarningMs,
      timeoutMs: stallTimeoutMs,
      cells: (slot) => this.#threads[slot]?.active ?? null,
      slotCount,
      warn: (text) => listener.logger.log('warn', text),
      giveUp: (slot, error) => this.#giveUp(slot, error),
    });
    await Promise.all(this.#threads.map((thread) => thread.ready.promise));
  }

  send(slot: number, message: TaskManagerMessage): void {
    const thread = this.#threads[slot];
    if (thread === undefined || thread.isLost) return;
    if (thread.queue !== null) thread.queue.push(message);
    else thread.worker.postMessage({ type: 'message', message } satisfies ToSlotThread);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#watch?.close();
    await Promise.all(this.#threads.map((thread) => thread.worker.terminate()));
  }

  #spawn(slot: number, links: readonly LinkBuffers[]): SlotThread {
    const { jobId, bundleUrl, configuration, jobGraph, random } = this.#options;
    const signal = this.#signals[slot] as SharedArrayBuffer;
    const active = new SharedArrayBuffer(8);
    const data: SlotThreadData = {
      threadId: slot,
      jobId,
      bundleUrl,
      arguments: this.#options.arguments,
      configuration: configuration.toPlain(),
      planHash: jobGraph.planHash,
      signal,
      active,
      links,
      seed: random.int(2 ** 31),
    };
    const worker = new Worker(new URL('./slot-worker.ts', import.meta.url), {
      workerData: data,
      name: `slot-${slot}`,
    });
    const ready = Promise.withResolvers<void>();
    // Awaited at the start only; a later thread that fails is reported as lost.
    ready.promise.catch(() => undefined);
    const thread: SlotThread = { worker, signal, active, ready, queue: [], isLost: false };
    worker.on('message', (message: FromSlotThread) => this.#received(slot, thread, message));
    worker.on('error', (error) => this.#lost(slot, thread, error));
    worker.on('exit', (code) =>
      this.#lost(slot, thread, new Error(`the thread ended with code ${code}`)),
    );
    return thread;
  }

  #received(slot: number, thread: SlotThread, message: FromSlotThread): void {
    const listener = this.#listener;
    if (listener === null || thread.isLost) return;
    switch (message.type) {
      case 'ready': {
        const queue = thread.queue ?? [];
        thread.queue = null;
        for (const waiting of queue) this.send(slot, waiting);
        return thread.ready.resolve();
      }
      case 'failed':
        return this.#lost(slot, thread, fromErrorInfo(message.error));
      case 'message':
        return listener.received(message.message);
      case 'log':
        return listener.logger.log(message.level, message.message);
      case 'print':
        return listener.printed(message.line);
    }
  }

  #giveUp(slot: number, error: WeirError): void {
    const thread = this.#threads[slot];
    if (thread === undefined) return;
    this.#lost(slot, thread, error);
  }

  #lost(slot: number, thread: SlotThread, cause: unknown): void {
    if (thread.isLost || this.#isClosed) return;
    thread.isLost = true;
    const error = isWeirError(cause)
      ? cause
      : new WeirError('transient', `the thread of slot ${slot} died: ${messageOf(cause)}`, {
          code: 'SLOT_LOST',
          cause,
          details: { slot },
        });
    const wasReady = thread.queue === null;
    thread.ready.reject(error);
    this.#broadcast(slot, { type: 'unlink', threadId: slot });
    // Only when the old thread is gone for good may a new attempt touch what it wrote.
    void thread.worker.terminate().then(() => {
      if (this.#isClosed) return;
      if (wasReady) this.#replace(slot);
      this.#listener?.lost(slot, error);
    });
  }

  #replace(slot: number): void {
    this.#signals[slot] = createSignalBuffer();
    const links: LinkBuffers[] = [];
    for (let peer = 0; peer < this.#options.slotCount; peer++) {
      if (peer === slot) continue;
      const outgoing = createRingBuffer();
      const incoming = createRingBuffer();
      links.push({ threadId: peer, outgoing, incoming, signal: this.#signalOf(peer) });
      const back: LinkBuffers = {
        threadId: slot,
        outgoing: incoming,
        incoming: outgoing,
        signal: this.#signalOf(slot),
      };
      this.#threads[peer]?.worker.postMessage({ type: 'link', link: back } satisfies ToSlotThread);
    }
    this.#threads[slot] = this.#spawn(slot, links);
  }

  #broadcast(except: number, message: ToSlotThread): void {
    for (const [slot, thread] of this.#threads.entries())
      if (slot !== except && !thread.isLost) thread.worker.postMessage(message);
  }

  #linksOf(slot: number, rings: readonly (readonly SharedArrayBuffer[])[]): LinkBuffers[] {
    const links: LinkBuffers[] = [];
    for (let peer = 0; peer < this.#options.slotCount; peer++) {
      const outgoing = rings[slot]?.[peer];
      const incoming = rings[peer]?.[slot];
      if (peer === slot || outgoing === undefined || incoming === undefined) continue;
      links.push({ threadId: peer, outgoing, incoming, signal: this.#signalOf(peer) });
    }
    return links;
  }

  #signalOf(slot: number): SharedArrayBuffer {
    return this.#signals[slot] as SharedArrayBuffer;
  }
}

/** A ring for each ordered pair of slots. */
function ringMatrix(slotCount: number): readonly (readonly SharedArrayBuffer[])[] {
  return Array.from({ length: slotCount }, (_row, from) =>
    Array.from({ length: slotCount }, (_cell, to) =>
      from === to ? new SharedArrayBuffer(0) : createRingBuffer(),
    ),
  );
}
