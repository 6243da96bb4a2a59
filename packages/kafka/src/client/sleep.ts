import type { Clock } from '@weir/core';

/** Resolves after `delayMs` of the given clock. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.schedule(delayMs, 'kafka-retry', resolve);
  });
}
