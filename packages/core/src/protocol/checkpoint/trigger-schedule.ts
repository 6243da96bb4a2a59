/**
 * When the next periodic checkpoint is due. The times lie on a grid of the interval, whatever a
 * checkpoint takes; a late timer fires at once, and ticks missed meanwhile are left out. The first
 * is drawn at random between the pause and the interval, so that many jobs started together spread
 * their load. While a source works through a backlog another interval may hold, or none.
 */
import type { CheckpointCoordinatorConfig } from './checkpoint-config.ts';
import { effectiveIntervalMs } from './checkpoint-config.ts';

export class TriggerSchedule {
  readonly #config: CheckpointCoordinatorConfig;
  /** Operators whose source works through a backlog. */
  readonly #backlog = new Set<string>();
  #isActive = false;
  #dueAt = Infinity;

  constructor(config: CheckpointCoordinatorConfig) {
    this.#config = config;
  }

  /** Monotonic milliseconds of the next trigger; Infinity: none. */
  get dueAt(): number {
    return this.#dueAt;
  }

  /** `draw` in [0, 1). */
  start(now: number, draw: number): void {
    this.#isActive = true;
    const least = this.#config.minPauseMs;
    const most = effectiveIntervalMs(this.#config, false);
    const isDue = effectiveIntervalMs(this.#config, this.#backlog.size > 0) !== Infinity;
    this.#dueAt = isDue ? now + least + Math.floor(draw * (most - least + 1)) : Infinity;
  }

  stop(): void {
    this.#isActive = false;
    this.#dueAt = Infinity;
  }

  /** The timer has fired. Whether a checkpoint is due; a timer of an earlier plan is not. */
  tick(now: number): boolean {
    if (now < this.#dueAt) return false;
    const intervalMs = effectiveIntervalMs(this.#config, this.#backlog.size > 0);
    if (intervalMs === Infinity) {
      this.#dueAt = Infinity;
      return false;
    }
    const missed = Math.floor((now - this.#dueAt) / intervalMs);
    this.#dueAt += (missed + 1) * intervalMs;
    return true;
  }

  /** Not before `at`, and then at once: the minimum pause lasts until then. */
  postpone(at: number): void {
    if (this.#isActive) this.#dueAt = at;
  }

  /** Only ever pulls the next trigger nearer; a longer interval holds from that one on. */
  setBacklog(operatorId: string, isBacklog: boolean, now: number): void {
    if (isBacklog) this.#backlog.add(operatorId);
    else this.#backlog.delete(operatorId);
    if (!this.#isActive) return;
    const at = now + effectiveIntervalMs(this.#config, this.#backlog.size > 0);
    if (at < this.#dueAt) this.#dueAt = at;
  }
}
