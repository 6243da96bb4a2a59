/**
 * Which of the wanted checkpoints is triggered next, and whether now. Order: savepoints, then what
 * is forced, then what somebody asked for, then periodic ones; among equals the older. A periodic
 * one that comes within the minimum pause is given up, and the next is due when the pause ends.
 *
 * At most as many periodic requests wait as may run at once: more could only start back to back,
 * long after their time (Flink lets up to 1000 pile up behind a slow checkpoint).
 */
import type { StopMode } from '../messages.ts';
import type { SnapshotKind } from '../snapshot.ts';
import type { CheckpointCoordinatorConfig } from './checkpoint-config.ts';
import { effectiveConcurrency } from './checkpoint-config.ts';
import type { CheckpointFailureReason } from './failure-reasons.ts';

export interface TriggerRequest {
  /** `final`: for tasks that wait for a checkpoint to end with. */
  readonly cause: 'periodic' | 'user' | 'final';
  /** Whom to answer; `null` unless somebody asked. */
  readonly requestId: string | null;
  readonly kind: SnapshotKind;
  readonly targetDirectory: string | null;
  /** Of a savepoint with which the job is to stop. */
  readonly stop: StopMode | null;
  /** Runs although as many are pending as may be: savepoints, as long as barriers are aligned. */
  readonly isForced: boolean;
}

/** What the queue must know of the coordinator. */
export interface TriggerSituation {
  readonly isTriggering: boolean;
  readonly pendingCount: number;
  /** Checkpoints whose files are being removed. */
  readonly cleaningCount: number;
  /** Of the last completion; -Infinity if there was none. */
  readonly lastCompletionAt: number;
  readonly now: number;
}

export type TriggerChoice =
  | { readonly type: 'start'; readonly request: TriggerRequest }
  /** Given up; the next periodic one may start at `retryAt`. */
  | { readonly type: 'tooEarly'; readonly request: TriggerRequest; readonly retryAt: number }
  | { readonly type: 'none' };

/** Flink's bound; only people and programs can reach it. */
export const QUEUED_REQUESTS_MAX = 1000;

export class CheckpointRequestQueue {
  readonly #concurrencyMax: number;
  readonly #minPauseMs: number;
  /** Most important first. */
  #requests: readonly TriggerRequest[] = [];

  constructor(config: CheckpointCoordinatorConfig) {
    this.#concurrencyMax = effectiveConcurrency(config);
    this.#minPauseMs = config.minPauseMs;
  }

  get size(): number {
    return this.#requests.length;
  }

  get hasFinal(): boolean {
    return this.#requests.some((request) => request.cause === 'final');
  }

  /** Returns the request that had to go for it: another, itself, or none. */
  add(request: TriggerRequest): TriggerRequest | null {
    if (request.cause === 'periodic' && this.#periodicCount() >= this.#concurrencyMax)
      return request;
    const last = this.#requests.at(-1);
    const isFull = this.#requests.length >= QUEUED_REQUESTS_MAX;
    if (isFull && last?.cause !== 'periodic') return request;
    const at = this.#requests.findIndex((queued) => rank(queued) > rank(request));
    const place = at < 0 ? this.#requests.length : at;
    this.#requests = this.#requests.toSpliced(place, 0, request);
    if (!isFull) return null;
    const dropped = this.#requests.at(-1) ?? null;
    this.#requests = this.#requests.slice(0, -1);
    return dropped;
  }

  /** Takes the next request out of the queue if it may start now, or must be given up. */
  next(situation: TriggerSituation): TriggerChoice {
    const head = this.#requests[0];
    if (head === undefined || situation.isTriggering) return { type: 'none' };
    if (situation.cleaningCount > this.#concurrencyMax) return { type: 'none' };
    if (situation.pendingCount >= this.#concurrencyMax && !head.isForced) return { type: 'none' };
    this.#requests = this.#requests.slice(1);
    const pauseEnd = situation.lastCompletionAt + this.#minPauseMs;
    if (head.cause === 'periodic' && situation.now < pauseEnd)
      return { type: 'tooEarly', request: head, retryAt: pauseEnd };
    return { type: 'start', request: head };
  }

  /** Empties the queue and returns what waited, most important first. */
  clear(): readonly TriggerRequest[] {
    const all = this.#requests;
    this.#requests = [];
    return all;
  }

  #periodicCount(): number {
    return this.#requests.filter((request) => request.cause === 'periodic').length;
  }
}

/** Why a queue without room gives a request up. */
export const QUEUE_FULL: CheckpointFailureReason = 'TOO_MANY_CHECKPOINT_REQUESTS';

/** Lower goes first. */
function rank(request: TriggerRequest): number {
  if (request.kind === 'savepoint') return 0;
  if (request.isForced) return 1;
  return request.cause === 'periodic' ? 3 : 2;
}
