/**
 * Watches threads from outside: a thread whose counter stands still while an operator's function is
 * marked as running is blocked by that function. After a second it is named; past the time-out its
 * thread is given up.
 */
import { WeirError } from '../base/errors.ts';
import type { JobGraph } from '../protocol/job-graph.ts';

const LOOK_EVERY_MS = 250;

export interface StallWatchOptions {
  readonly jobGraph: JobGraph;
  readonly slotCount: number;
  readonly warningMs: number;
  readonly timeoutMs: number | null;
  cells(slot: number): SharedArrayBuffer | null;
  warn(text: string): void;
  giveUp(slot: number, error: WeirError): void;
}

interface Observation {
  readonly memory: SharedArrayBuffer;
  readonly count: number;
  readonly since: number;
  warned: boolean;
}

export class StallWatch {
  readonly #options: StallWatchOptions;
  readonly #seen: (Observation | null)[];
  readonly #timer: NodeJS.Timeout;

  constructor(options: StallWatchOptions) {
    this.#options = options;
    this.#seen = Array.from({ length: options.slotCount }, () => null);
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (let slot = 0; slot < this.#options.slotCount; slot++) this.#lookAt(slot);
  }

  #lookAt(slot: number): void {
    const memory = this.#options.cells(slot);
    if (memory === null) return;
    const cells = new Int32Array(memory);
    const active = cells[0] ?? 0;
    const count = cells[1] ?? 0;
    const seen = this.#seen[slot] ?? null;
    if (active === 0 || seen === null || seen.memory !== memory || seen.count !== count) {
      this.#seen[slot] = { memory, count, since: performance.now(), warned: false };
      return;
    }
    const stoodMs = performance.now() - seen.since;
    const { warningMs, timeoutMs } = this.#options;
    if (!seen.warned && stoodMs >= warningMs) {
      seen.warned = true;
      this.#options.warn(
        `slow operator: ${this.#describe(active - 1)} has blocked the thread of slot ${slot} for ` +
          `${(stoodMs / 1000).toFixed(1)} s; checkpoints wait for it`,
      );
    }
    if (timeoutMs === null || stoodMs < timeoutMs) return;
    this.#seen[slot] = null;
    const text =
      `${this.#describe(active - 1)} blocked the thread of slot ${slot} for ` +
      `${(stoodMs / 1000).toFixed(1)} s, longer than weir.task.stall-timeout allows`;
    this.#options.giveUp(
      slot,
      new WeirError('function', text, { code: 'TASK_STALLED', details: { slot } }),
    );
  }

  #describe(node: number): string {
    for (const vertex of this.#options.jobGraph.vertices)
      for (const operator of vertex.operators) {
        if (operator.node !== node) continue;
        const at = operator.location === null ? '' : ` at ${operator.location}`;
        return `operator "${operator.uid ?? operator.name}"${at}`;
      }
    return 'an operator';
  }
}
