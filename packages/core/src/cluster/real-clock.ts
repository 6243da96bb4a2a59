/** The clock of a real thread. */
import { performance } from 'node:perf_hooks';
import type { Clock } from '../base/clock.ts';

/** The longest delay that timers of Node take. */
const DELAY_MAX_MS = 2_147_483_647;

export const realClock: Clock = {
  now: () => performance.now(),
  wallTime: () => Date.now(),
  schedule(delayMs, _label, fn) {
    const timer = setTimeout(fn, Math.min(Math.max(0, Math.ceil(delayMs)), DELAY_MAX_MS));
    return { cancel: () => clearTimeout(timer) };
  },
  defer(_label, fn) {
    const immediate = setImmediate(fn);
    return { cancel: () => clearImmediate(immediate) };
  },
};
