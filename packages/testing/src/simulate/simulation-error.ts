/** A simulated job did not do what it should. The message tells all; fields are for programs. */
import { WeirError } from '@weir/core';
import type { OutputDifference } from './compare-outputs.ts';

/**
 * `wrong-result`: after faults, other results than without · `not-deterministic`: other results in
 * two runs of one schedule · `depends-on-parallelism`: other results at another parallelism,
 * without any failure · `depends-on-order`: the same, when records and watermarks come in another
 * order · `unexpected-result`: without failure, other results than `expect` says ·
 * `sets-timers`: a function set a timer of its own, which no checkpoint holds ·
 * `job-failed`: the job failed and could not go on · `job-not-finished`: it did not come to its end
 * · `engine`: Weir broke a promise of its own.
 */
export type SimulationFinding =
  | 'wrong-result'
  | 'not-deterministic'
  | 'depends-on-parallelism'
  | 'depends-on-order'
  | 'unexpected-result'
  | 'sets-timers'
  | 'job-failed'
  | 'job-not-finished'
  | 'engine';

export interface SimulationFailure {
  readonly finding: SimulationFinding;
  readonly job: string;
  /** Of the schedule that failed; `null`: no fault was needed. */
  readonly seed: number | null;
  readonly differences: readonly OutputDifference[];
  /** Of the shortest failing schedule, a line each. */
  readonly story: readonly string[];
  /** Likely causes, a sentence each, the likeliest first. */
  readonly causes: readonly string[];
}

export class SimulationError extends WeirError {
  readonly #failure: SimulationFailure;

  constructor(message: string, failure: SimulationFailure) {
    super('user', message, { code: 'SIMULATION_FAILED', details: { seed: failure.seed } });
    this.#failure = failure;
  }

  /** What the message says, as data. No field, so that no runner prints it once more. */
  get failure(): SimulationFailure {
    return this.#failure;
  }
}
