/**
 * What the coordinator is to trigger next, and when to look again: periodic checkpoints, those that
 * somebody asked for, and those that tasks at the end of their data wait for. Inactive while the
 * job does not run; paused while it is being stopped with a savepoint, which alone is then let
 * through.
 */
import type { SubtaskKey } from '../../base/ids.ts';
import type { CheckpointCoordinatorConfig } from './checkpoint-config.ts';
import { EndingTasks } from './ending-tasks.ts';
import type { CheckpointFailureReason } from './failure-reasons.ts';
import { CheckpointRequestQueue } from './request-queue.ts';
import type { TriggerRequest, TriggerSituation } from './request-queue.ts';
import { TriggerSchedule } from './trigger-schedule.ts';

export interface SchedulerSituation extends TriggerSituation {
  /** Checkpoints whose tasks have been triggered. */
  readonly underWay: readonly { readonly endsFor: ReadonlySet<SubtaskKey> }[];
}

export type SchedulerChoice =
  | { readonly type: 'start'; readonly request: TriggerRequest }
  | {
      readonly type: 'drop';
      readonly request: TriggerRequest;
      readonly reason: CheckpointFailureReason;
      readonly message: string;
    }
  | { readonly type: 'none' };

const PERIODIC: TriggerRequest = {
  cause: 'periodic',
  requestId: null,
  kind: 'checkpoint',
  targetDirectory: null,
  stop: null,
  isForced: false,
};
const FINAL: TriggerRequest = { ...PERIODIC, cause: 'final' };

export class CheckpointScheduler {
  readonly #schedule: TriggerSchedule;
  readonly #queue: CheckpointRequestQueue;
  readonly #ending: EndingTasks;
  /** Whether tasks wait for a checkpoint to end with: only with periodic checkpoints on. */
  readonly #hasFinalCheckpoints: boolean;
  #isActive = false;
  #isPaused = false;
  #draw = 0;

  constructor(config: CheckpointCoordinatorConfig) {
    this.#schedule = new TriggerSchedule(config);
    this.#queue = new CheckpointRequestQueue(config);
    this.#ending = new EndingTasks(config.intervalMs ?? 0);
    this.#hasFinalCheckpoints = config.checkpointsAfterTasksFinish && config.intervalMs !== null;
  }

  get isActive(): boolean {
    return this.#isActive;
  }

  /** The job is being stopped, or stopped, with a savepoint. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Tasks that wait for a checkpoint to end with. */
  get endingTasks(): ReadonlySet<SubtaskKey> {
    return this.#ending.waiting;
  }

  /** Also when it was active: the job runs anew, and the intervals with it. */
  start(now: number, draw: number): void {
    this.#isActive = true;
    this.#isPaused = false;
    this.#draw = draw;
    this.#schedule.start(now, draw);
    this.#ending.retryAtOnce();
  }

  /** Returns the requests that waited. Ending tasks go on waiting: they survive as tasks. */
  stop(): readonly TriggerRequest[] {
    this.#isActive = false;
    this.#isPaused = false;
    this.#schedule.stop();
    return this.#queue.clear();
  }

  /** Nothing is begun by itself any more. Returns the requests that waited. */
  pause(): readonly TriggerRequest[] {
    this.#isPaused = true;
    this.#schedule.stop();
    return this.#queue.clear();
  }

  /** The savepoint that was to stop the job has failed: everything goes on. */
  resume(now: number): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#schedule.start(now, this.#draw);
    this.#ending.retryAtOnce();
  }

  setBacklog(operatorId: string, isBacklog: boolean, now: number): void {
    this.#schedule.setBacklog(operatorId, isBacklog, now);
  }

  endOfDataReached(key: SubtaskKey): void {
    if (this.#hasFinalCheckpoints) this.#ending.add(key);
  }

  /** These tasks wait no longer: they finished, failed, or have got their checkpoint. */
  forget(keys: Iterable<SubtaskKey>): void {
    this.#ending.remove(keys);
  }

  checkpointCompleted(): void {
    this.#ending.retryAtOnce();
  }

  checkpointFailed(now: number): void {
    this.#ending.retryLater(now);
  }

  /** Returns the request that had to go for it: another, itself, or none. */
  submit(request: TriggerRequest): TriggerRequest | null {
    return this.#queue.add(request);
  }

  /** The next thing to do; to be asked until there is none or a trigger has begun. */
  next(situation: SchedulerSituation): SchedulerChoice {
    if (!this.#isActive) return { type: 'none' };
    if (this.#schedule.tick(situation.now)) {
      const dropped = this.submit(PERIODIC);
      if (dropped !== null)
        return {
          type: 'drop',
          request: dropped,
          reason: 'TOO_MANY_CHECKPOINT_REQUESTS',
          message: 'an earlier periodic checkpoint still waits for its turn',
        };
    }
    if (this.#isFinalDue(situation) && !this.#queue.hasFinal) this.submit(FINAL);
    const choice = this.#queue.next(situation);
    if (choice.type === 'tooEarly') {
      this.#schedule.postpone(choice.retryAt);
      return {
        type: 'drop',
        request: choice.request,
        reason: 'MINIMUM_TIME_BETWEEN_CHECKPOINTS',
        message: `the minimum pause lasts ${choice.retryAt - situation.now} ms more`,
      };
    }
    // Another checkpoint may have served the ending tasks while the request waited.
    if (
      choice.type === 'start' &&
      choice.request.cause === 'final' &&
      !this.#ending.isUnserved(situation.underWay)
    )
      return this.next(situation);
    return choice;
  }

  /** When to look again if nothing else happens; Infinity: never. */
  wakeAt(situation: SchedulerSituation): number {
    if (!this.#isActive || this.#isPaused) return Infinity;
    const { retryAt } = this.#ending;
    const waitsForRetry = retryAt > situation.now && this.#ending.isUnserved(situation.underWay);
    return Math.min(this.#schedule.dueAt, waitsForRetry ? retryAt : Infinity);
  }

  /** A trigger under way may yet serve them, so none is asked for beside it. */
  #isFinalDue(situation: SchedulerSituation): boolean {
    return (
      !this.#isPaused &&
      !situation.isTriggering &&
      situation.now >= this.#ending.retryAt &&
      this.#ending.isUnserved(situation.underWay)
    );
  }
}
