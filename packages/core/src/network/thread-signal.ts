/**
 * How a thread sleeps until another one has work for it: one word of shared memory per thread. A
 * wake costs 8–10 µs, so it is only paid when the thread has said that it sleeps; otherwise `wake`
 * is one atomic load. The sleeping thread's event loop goes on, so timers and I/O still run.
 * No wake is lost: the sleeper announces itself before it looks for work a last time, and the waker
 * hands over the work before it looks for the announcement.
 */

const AWAKE = 0;
const SLEEPING = 1;

export function createSignalBuffer(): SharedArrayBuffer {
  return new SharedArrayBuffer(4);
}

export class ThreadSignal {
  readonly #word: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.#word = new Int32Array(buffer);
  }

  /**
   * Resolves when someone wakes the thread; at once when `hasWork` says true, which is asked after
   * the announcement. One sleep at a time. Wake yourself to end a sleep early (a timer fired).
   */
  async sleep(hasWork: () => boolean): Promise<void> {
    Atomics.store(this.#word, 0, SLEEPING);
    if (hasWork()) {
      Atomics.store(this.#word, 0, AWAKE);
      return;
    }
    const waiting = Atomics.waitAsync(this.#word, 0, SLEEPING);
    if (waiting.async) await waiting.value;
  }

  wake(): void {
    if (Atomics.load(this.#word, 0) !== SLEEPING) return;
    if (Atomics.compareExchange(this.#word, 0, SLEEPING, AWAKE) === SLEEPING)
      Atomics.notify(this.#word, 0);
  }
}
