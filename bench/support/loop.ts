/**
 * Times a hand-written loop: the baseline of a row. The records it makes are kept reachable for a
 * while, as those of any program that hands them on; otherwise V8 would not make them at all.
 */

export interface LoopTime {
  readonly perSecond: number;
  readonly perCpuSecond: number;
  readonly checksum: number;
}

/** Runs `loop` over `records` indexes; what it returns is the checksum. */
export function timeLoop(records: number, loop: (records: number) => number): LoopTime {
  const cpuBefore = process.cpuUsage();
  const before = performance.now();
  const checksum = loop(records);
  const ms = performance.now() - before;
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    perSecond: (records / ms) * 1000,
    perCpuSecond: (records / (user + system)) * 1e6,
    checksum,
  };
}

const KEPT = 1024;

/** A ring in which the loop puts the records it made. */
export class Kept {
  readonly #records: unknown[] = Array.from({ length: KEPT }, () => null);

  put(index: number, record: unknown): void {
    this.#records[index & (KEPT - 1)] = record;
  }
}
