/**
 * Notices when the wall clock jumps (an administrator, NTP, a machine that slept). Nothing in the
 * engine depends on it: intervals and time-outs use the monotonic clock. But event times made of
 * wall-clock time, processing-time timers and times in logs do, so the jump is told with its size.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { formatDuration } from '../base/duration.ts';
import type { Logger } from '../base/logger.ts';

const LOOK_EVERY_MS = 1000;
/** Below this it may be slewing, or a busy process. */
const JUMP_MS_MIN = 1000;

/** Watches until the result is called. */
export function watchWallClock(clock: Clock, logger: Logger): () => void {
  let offset = clock.wallTime() - clock.now();
  let timer: Timer;
  const look = (): void => {
    const offsetNow = clock.wallTime() - clock.now();
    const jumpMs = Math.round(offsetNow - offset);
    if (Math.abs(jumpMs) >= JUMP_MS_MIN) {
      offset = offsetNow;
      const direction = jumpMs > 0 ? 'forward' : 'back';
      const by = formatDuration(Math.abs(jumpMs));
      logger.log(
        'warn',
        `the wall clock of this machine jumped ${direction} by ${by}; ` +
          'checkpoints, time-outs and restarts are not affected, processing-time timers are',
        { jumpMs },
      );
    }
    timer = clock.schedule(LOOK_EVERY_MS, 'wall-clock', look);
  };
  timer = clock.schedule(LOOK_EVERY_MS, 'wall-clock', look);
  return () => timer.cancel();
}
