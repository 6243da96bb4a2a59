import { sleep, type Clock } from '../base/clock.ts';
import { isTransientStorageError } from './storage-error.ts';

/**
 * Tries in all: enough for a hiccup of a network mount; a longer outage is the restart strategy's.
 */
const ATTEMPTS_MAX = 3;
/** Pause after the first failure; four times that after the second. */
const FIRST_PAUSE_MS = 100;

/** Runs `attempt` until it succeeds, at most three times; a permanent error ends it at once. */
export async function retryTransient<T>(clock: Clock, attempt: () => Promise<T>): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS, tries = 1; ; tries++, pauseMs *= 4) {
    try {
      return await attempt();
    } catch (error) {
      if (tries >= ATTEMPTS_MAX || !isTransientStorageError(error)) throw error;
    }
    await sleep(clock, pauseMs, 'storage retry');
  }
}
