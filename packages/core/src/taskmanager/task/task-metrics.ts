/** What a task counts; reported about once a second, for people only. */
import type { UserMetrics } from '../../api/functions.ts';
import type { ExecutionRef } from '../../base/ids.ts';
import type { LatencyStatistics, TaskMetrics } from '../../protocol/messages.ts';

export class TaskCounters {
  recordsIn = 0;
  recordsOut = 0;
  busyMs = 0;
  backPressuredMs = 0;
  idleMs = 0;
  watermark: number = -Infinity;
  readonly #named = new Map<string, { count: number }>();

  readonly user: UserMetrics;

  constructor() {
    this.user = {
      counter: (name) => {
        let cell = this.#named.get(name);
        if (cell === undefined) {
          cell = { count: 0 };
          this.#named.set(name, cell);
        }
        const counted = cell;
        return {
          add: (count = 1) => {
            counted.count += count;
          },
        };
      },
    };
  }

  report(execution: ExecutionRef, latencies: readonly LatencyStatistics[]): TaskMetrics {
    const { recordsIn, recordsOut, busyMs, backPressuredMs, idleMs, watermark } = this;
    const counters = Object.fromEntries([...this.#named].map(([name, cell]) => [name, cell.count]));
    return {
      execution,
      recordsIn,
      recordsOut,
      busyMs,
      backPressuredMs,
      idleMs,
      watermark,
      counters,
      latencies,
    };
  }
}
