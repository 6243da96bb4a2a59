/**
 * Events in the order of time; those of the same time in random order. The random tie-break is the
 * scheduler: every interleaving of simultaneous events is reached by some seed. A binary heap.
 */
import type { Timer } from '@weir/core/internal/base/clock';
import type { Life } from './life.ts';
import type { Label } from './trace.ts';

/** Answers `settled` when no promise has anything to do with it, so none needs to be waited for. */
export type EventAction = () => unknown;

/** An event, and its timer. */
export interface WorldEvent extends Timer {
  at: number;
  /** Drawn; of an event that a pause has moved, its former time, so that order is kept. */
  tie: number;
  readonly sequence: number;
  /** `null`: the world itself. */
  readonly life: Life | null;
  readonly label: Label;
  readonly fn: EventAction;
  cancelled: boolean;
}

export class EventQueue {
  readonly #heap: WorldEvent[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** Everything that is still to come, in no order. */
  get events(): readonly WorldEvent[] {
    return this.#heap;
  }

  push(event: WorldEvent): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(event);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const other = heap[parent] as WorldEvent;
      if (!isBefore(event, other)) break;
      heap[index] = other;
      index = parent;
    }
    heap[index] = event;
  }

  pop(): WorldEvent | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, heap[child] as WorldEvent)) child++;
      const other = heap[child] as WorldEvent;
      if (!isBefore(other, last)) break;
      heap[index] = other;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

function isBefore(a: WorldEvent, b: WorldEvent): boolean {
  if (a.at !== b.at) return a.at < b.at;
  if (a.tie !== b.tie) return a.tie < b.tie;
  return a.sequence < b.sequence;
}
