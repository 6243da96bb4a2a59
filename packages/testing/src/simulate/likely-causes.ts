/** What usually makes a job fail in a simulation, in the order of what the evidence speaks for. */
import type { AmbientUse } from './ambient.ts';
import { restartsTasks } from './fault-words.ts';
import type { SimulationFinding } from './simulation-error.ts';
import type { RunOutcome } from './simulated-run.ts';

export interface Evidence {
  readonly finding: SimulationFinding;
  /** Of the shortest failing run, if one run failed. */
  readonly outcome: RunOutcome | null;
  readonly uses: readonly AmbientUse[];
  /** Two runs that were equal in everything gave different results. */
  readonly keepsState?: boolean;
}

const CLOSURE =
  'state in a variable of the function given to job(), or in a field of an object made there, is ' +
  'lost when its thread or process ends, and is in no checkpoint: keep it in declared state ' +
  '(valueState, listState, mapState, …)';
const MODULE =
  'a variable outside of the function given to job() keeps its value from one run to the next, ' +
  'and in production each thread has one of its own: keep what belongs to the job in declared ' +
  'state (valueState, listState, mapState, …)';
const PARALLEL_VARIABLE =
  'a variable of the function given to job() counts for one subtask alone: keep it in declared ' +
  'state';
const ORDER =
  'records of several subtasks, splits or inputs reach an operator in any order, and watermarks, ' +
  'which fire timers, come at any moment between them: make the result independent of it, or ' +
  'compare only what counts (view)';
const UNSEEN =
  'randomness or time that the simulation cannot hold, such as that of node:crypto, or something ' +
  'outside that a function waits for, makes each run another one';
const PROCESSING_TIME =
  'a result made of the wall clock (ctx.currentProcessingTime, processing-time timers) or of ' +
  'randomness that the simulation cannot see is another one in each run: use event time ' +
  '(ctx.timestamp)';

const TIMER =
  'such a timer is in no checkpoint, so that a failure loses it, and it fires between records, ' +
  'where no key is current: register one with ctx.timerService, which a restart brings back; ' +
  'what only waits for something outside belongs into what the test hands in';

export function likelyCauses({ finding, outcome, uses, keepsState }: Evidence): readonly string[] {
  const clock = uses.length === 0 ? [] : [ambientCause(uses)];
  switch (finding) {
    case 'not-deterministic':
      if (keepsState === true) return [MODULE, UNSEEN, ...clock];
      return clock.length > 0 ? clock : [PROCESSING_TIME];
    case 'depends-on-parallelism':
      return [...clock, PARALLEL_VARIABLE, ORDER];
    case 'depends-on-order':
      return [...clock, ORDER];
    case 'wrong-result': {
      const needsRestart = outcome?.plan.faults.some(restartsTasks) ?? false;
      return needsRestart ? [CLOSURE, ...clock] : [...clock, ORDER, CLOSURE];
    }
    case 'job-failed':
      return outcome !== null && outcome.plan.faults.length > 0 ? [CLOSURE] : [];
    case 'sets-timers':
      return [`${placesOf(uses)}: ${TIMER}`];
    case 'unexpected-result':
    case 'job-not-finished':
      return clock;
    case 'engine':
      return ['this is a fault of Weir, not of the job: please report it, with job and seed'];
  }
}

function ambientCause(uses: readonly AmbientUse[]): string {
  const isTime = uses.some(({ what }) => !/random/i.test(what));
  const instead = isTime
    ? 'use the time of the record (ctx.timestamp) instead'
    : 'derive it from the record, such as from its id, instead';
  return (
    `${placesOf(uses)}: what comes of it is another value in each run, also ` +
    `when the same record is handled again after a failure; ${instead}`
  );
}

function placesOf(uses: readonly AmbientUse[]): string {
  const places = uses.map(({ what, where }) => (where === null ? what : `${what} at ${where}`));
  return `the job called ${places.join(', ')}`;
}
