/**
 * Faults that wait for an event instead of a time: a sequence of steps, each of which waits for its
 * moment after the one before has been done. So a pattern hits what it is named for in every
 * schedule in which that happens at all, and says in how many it did.
 */
import { injectNow } from '../faults/inject.ts';
import type { FaultTargets } from '../faults/inject.ts';
import type { Fault } from '../faults/fault-plan.ts';
import type { World } from '../world/world.ts';

export type MomentName =
  | 'trigger'
  | 'acknowledgement'
  | 'metadata'
  | 'published'
  | 'pointer'
  | 'notification'
  | 'commit'
  | 'restore'
  | 'restart'
  | 'claim'
  | 'cleanUp'
  | 'start'
  | 'savepoint'
  | 'savepointPublished'
  | 'startFromSavepoint';

export interface Step {
  readonly moment: MomentName;
  /** 1: the first such event since the step before; only before and after count. */
  readonly nth: number;
  readonly when: 'before' | 'after';
  /** `at`: so long after the moment. */
  readonly faults: readonly Fault[];
}

/** Of the number of an event itself: where a crash at each event is tried in turn. */
export interface EventStep {
  readonly event: number;
  readonly faults: readonly Fault[];
}

export type Sequence = readonly Step[];

type Matches = (what: string) => boolean;

const REDEPLOYED = /^deployTask \S+@(?!1\.1$)/;

/** What each moment is, by the labels of events. */
const MOMENTS: Readonly<Record<MomentName, () => Matches>> = {
  /** A task is told to take a checkpoint. */
  trigger: () => (what) => what.startsWith('triggerCheckpoint '),
  /** The JobManager hears that a task has taken it. */
  acknowledgement: () => (what) => what.startsWith('acknowledgeCheckpoint '),
  /** `_metadata` is about to be written. */
  metadata: () => (what) => what.startsWith('create ') && what.endsWith('/.metadata.inprogress'),
  /** The checkpoint exists from here on. */
  published: () => (what) => what.startsWith('rename ') && what.endsWith('/_metadata'),
  /** The job's log names the checkpoint. */
  pointer: () => pointer(),
  /** A task hears that it is complete. */
  notification: () => (what) => what.startsWith('notifyCheckpointComplete '),
  /** Something is published, in the outer system or as a file. */
  commit: () => (what) => what.startsWith('commit ') || what.startsWith('link /output/'),
  /** A task of a later attempt is deployed: it restores. */
  restore: () => (what) => REDEPLOYED.test(what),
  /** Tasks are about to be started again. */
  restart: () => (what) => what.startsWith('restarting '),
  /** A process takes the lead of the job. */
  claim: () => (what) => what.startsWith('link /data/jobs/'),
  /** Whoever leads looks for checkpoints; after its claim, for those to remove. */
  cleanUp: () => (what) => /^list \/data\/checkpoints(\/[0-9a-f]+)?$/.test(what),
  /** A process asks what earlier ones left. */
  start: () => (what) => what.startsWith('list /data/jobs/'),
  /** A savepoint is asked for. */
  savepoint: () => (what) => what.startsWith('savepoint asked for'),
  /** `_metadata` of a savepoint gets its name. */
  savepointPublished: () => (what) => /^rename \/savepoints\/.*\/_metadata$/.test(what),
  /** A run begins from a savepoint. */
  startFromSavepoint: () => (what) => what.includes(': starts from savepoint'),
};

function pointer(): Matches {
  let isPublished = false;
  return (what) => {
    if (what.startsWith('rename ') && what.endsWith('/_metadata')) isPublished = true;
    return isPublished && what.startsWith('link /data/jobs/');
  };
}

class SequenceWatch {
  readonly #sequence: Sequence;
  readonly #targets: FaultTargets;
  #at = 0;
  #seen = 0;
  #matches: Matches | null;

  constructor(sequence: Sequence, targets: FaultTargets) {
    this.#sequence = sequence;
    this.#targets = targets;
    this.#matches = this.#newMatches();
  }

  /** Steps that have been carried out. */
  get done(): number {
    return this.#at;
  }

  get isDone(): boolean {
    return this.#at >= this.#sequence.length;
  }

  see(what: string, when: 'before' | 'after' | 'remark'): void {
    const step = this.#sequence[this.#at];
    // A remark has no before: it is both.
    if (step === undefined || this.#matches === null) return;
    if (when !== 'remark' && when !== step.when) return;
    if (!this.#matches(what) || ++this.#seen < step.nth) return;
    this.#at++;
    this.#seen = 0;
    this.#matches = this.#newMatches();
    const targets = { ...this.#targets, healAt: Number.MAX_SAFE_INTEGER };
    const { world } = targets.machine;
    for (const fault of step.faults)
      if (fault.at === 0) injectNow(fault, targets);
      else world.schedule(null, fault.at, `fault ${fault.type}`, () => injectNow(fault, targets));
  }

  #newMatches(): Matches | null {
    const step = this.#sequence[this.#at];
    return step === undefined ? null : MOMENTS[step.moment]();
  }
}

/** Watches for the moments of all sequences; the result says how many steps each has done. */
export function watchMoments(
  world: World,
  sequences: readonly Sequence[],
  targets: FaultTargets,
): () => readonly number[] {
  const watches = sequences.map((sequence) => new SequenceWatch(sequence, targets));
  if (watches.length > 0)
    world.watcher = (_who, what, when) => {
      for (const watch of watches) watch.see(what, when);
      // From then on nobody needs to have events put into words.
      if (watches.every(({ isDone }) => isDone)) world.watcher = null;
    };
  return () => watches.map(({ done }) => done);
}
