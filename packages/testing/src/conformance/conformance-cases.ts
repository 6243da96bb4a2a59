/**
 * The cases of `sinkConformance`, as scripts over a `SinkWorld`. Each ends with the next start of
 * the job, which may clean up; then a reader must see exactly what was written, and nothing is left
 * half done.
 */
import { errorKind, messageOf } from '@weir/core';
import { canonical, shown } from '../simulate/canonical.ts';
import { compareOutput } from '../simulate/compare-outputs.ts';
import type { Comparison } from '../simulate/compare-outputs.ts';
import {
  ConformanceError,
  LEFT_BEHIND,
  MISSING,
  named,
  PART,
  REPEATED,
  TOO_EARLY,
} from './broken-rules.ts';
import type { AutoClock } from './auto-clock.ts';
import type { ConformanceSubject, ConformanceSystem } from './conformance-subject.ts';
import { ProcessDied, Steps } from './process-gate.ts';
import type { StepFault } from './process-gate.ts';
import { NO_CHECKPOINT, SinkWorld } from './sink-run.ts';
import type { SinkCheckpoint, SinkProcess } from './sink-run.ts';

/** Records between two checkpoints; the last ends the input. */
const INTERVALS: readonly number[] = [3, 0, 4, 3];
const RECORDS = INTERVALS.reduce((sum, count) => sum + count, 0);
const PARALLELISM = 2;
/** Number of the interval in which a server is restarted, from 0. */
const RESTART_INTERVAL = 2;
const RESTARTS_MAX = 10;

type World<T, S extends ConformanceSystem<T>> = SinkWorld<T, S>;
type Process<T, S extends ConformanceSystem<T>> = SinkProcess<T, S>;

interface AttemptOptions<T, S extends ConformanceSystem<T>> {
  readonly parallelism?: number;
  /** Stops, with nothing closed, when so many checkpoints are complete. */
  readonly until?: number;
  /** When the writers are open. */
  readonly opened?: () => Promise<void>;
  /** Between the records of an interval and its checkpoint. */
  readonly written?: () => Promise<void>;
  /** In place of the commit of a complete checkpoint. */
  readonly complete?: (process: Process<T, S>, checkpoint: SinkCheckpoint) => Promise<void>;
}

export interface SinkFacts {
  /** What a reader may demand; `null`: nothing. */
  readonly comparison: Comparison | null;
  /** Whether it publishes by a committer. */
  readonly commits: boolean;
}

export class ConformanceCases<T, S extends ConformanceSystem<T>> {
  readonly #subject: ConformanceSubject<T, S>;
  readonly #comparison: Comparison | null;
  readonly #commits: boolean;
  #clock: AutoClock | null = null;

  constructor(subject: ConformanceSubject<T, S>, sink: SinkFacts) {
    this.#subject = subject;
    this.#comparison = sink.comparison;
    this.#commits = sink.commits;
  }

  async undisturbed(): Promise<void> {
    const world = this.#world();
    await this.#runToEnd(world);
    await this.#check(world, 'in a run without any failure');
  }

  async notBeforeTheCheckpoint(): Promise<void> {
    const world = this.#world();
    const process = world.newProcess();
    await process.recover(NO_CHECKPOINT);
    await process.startWriters(PARALLELISM);
    await process.write(3);
    await this.#requireInvisible(world, 'before the checkpoint');
    const checkpoint = await process.prepare();
    await this.#requireInvisible(world, 'when the checkpoint is prepared but not complete');
    await process.complete(checkpoint);
    process.gate.kill();
  }

  async committedTwice(): Promise<void> {
    const world = this.#world();
    await this.#runToEnd(world, {
      complete: async (process, checkpoint) => {
        await process.complete(checkpoint);
        await process.commit(checkpoint.committables);
        const other = process.newCommitter();
        await other?.commit(structuredClone(checkpoint.committables));
        await other?.close();
      },
    });
    await this.#check(world, 'when each commit was done again');
  }

  async committedOutOfOrder(): Promise<void> {
    const world = this.#world();
    let held: SinkCheckpoint | null = null;
    await this.#runToEnd(world, {
      complete: async (process, checkpoint) => {
        // Every other one is aborted; the next holds what it had prepared.
        if (held === null && world.stage < INTERVALS.length) {
          held = checkpoint;
          return;
        }
        held = null;
        const committables = checkpoint.committables.toReversed();
        await process.complete({ ...checkpoint, committables });
      },
    });
    await this.#check(world, 'when committables of two checkpoints were committed in reverse');
  }

  async abortedCheckpoint(): Promise<void> {
    const world = this.#world();
    const process = world.newProcess();
    await process.recover(NO_CHECKPOINT);
    await process.startWriters(PARALLELISM);
    await process.write(3);
    await process.prepare();
    process.gate.kill();
    await this.#runToEnd(world);
    await this.#check(world, 'when the process died before the first checkpoint was complete');
  }

  async nothingToCommit(): Promise<void> {
    const world = this.#world();
    const process = world.newProcess();
    await process.recover(NO_CHECKPOINT);
    await process.startWriters(PARALLELISM);
    for (const endOfInput of [false, false, true])
      await process.complete(await process.prepare(endOfInput));
    await process.close();
    await this.#check(world, 'when nothing was written', 0);
  }

  async probe(): Promise<void> {
    const world = this.#world();
    const probed = async (
      process: Process<T, S>,
      { committables }: SinkCheckpoint,
      expected: string,
    ): Promise<void> => {
      const committer = process.newCommitter();
      for (const committable of structuredClone(committables)) {
        const status = await committer?.probe(committable);
        if (status !== expected)
          throw new ConformanceError(
            `probe says ${status} of a committable that is ${expected}: ${shown(committable)}`,
          );
      }
      await committer?.close();
    };
    await this.#runToEnd(world, {
      complete: async (process, checkpoint) => {
        await probed(process, checkpoint, 'pending');
        await process.complete(checkpoint);
        await probed(process, checkpoint, 'committed');
      },
    });
    await this.#check(world, 'when each committable was probed');
  }

  /** The same fault at each call to the outer system in turn. */
  async atEveryStep(fault: StepFault): Promise<void> {
    const calm = this.#world();
    await this.#runToEnd(calm);
    const count = calm.steps.names.length;
    if (count === 0)
      throw new ConformanceError(
        'the sink made no call through the gate: let makeSink hand it to what reaches the system',
      );
    for (let at = 0; at < count; at++) {
      const steps = new Steps(fault, at);
      const world = this.#world(steps);
      await this.#getOn(() => `with ${fault} at step ${at + 1}, ${steps.at}`, world);
    }
  }

  async restoredTwice(): Promise<void> {
    const world = this.#world();
    await this.#attempt(world, { until: 1, complete: uncommitted(world) });
    const died = world.newProcess();
    await died.recover(world.completed);
    died.gate.kill();
    await this.#runToEnd(world);
    await this.#check(world, 'when one checkpoint was restored twice');
  }

  async restoredAtAnotherParallelism(): Promise<void> {
    const world = this.#world();
    for (const [until, parallelism] of [2, 1, 3].entries())
      await this.#attempt(world, {
        until: until + 1,
        parallelism,
        complete: uncommitted(world),
      });
    await this.#runToEnd(world, { parallelism: 2 });
    await this.#check(world, 'when each restart had another parallelism');
  }

  /** What can no longer be committed must be said, not passed over. */
  async expiredTransaction(): Promise<void> {
    const world = this.#world();
    const process = world.newProcess();
    await process.recover(NO_CHECKPOINT);
    await process.startWriters(PARALLELISM);
    await process.write(3);
    const checkpoint = await process.prepare(true);
    world.completed = checkpoint;
    await world.system.expire?.();
    const commits = [
      ['the commit', (): Promise<void> => process.commit(checkpoint.committables)],
      ['recovery', (): Promise<void> => world.newProcess().recover(checkpoint)],
    ] as const;
    for (const [what, act] of commits) {
      const failed = await act().then(
        () => false,
        () => true,
      );
      if (!failed) await this.#check(world, `when ${what} succeeded for an expired transaction`, 3);
    }
    process.gate.kill();
  }

  /** An attempt that stood still goes on after another has taken over. */
  async fencedAttempt(): Promise<void> {
    const world = this.#world();
    const old = world.newProcess();
    await old.recover(NO_CHECKPOINT);
    await old.startWriters(PARALLELISM);
    await old.write(3);
    const committed = await old.prepare();
    await old.complete(committed);
    world.stage = 1;
    await old.write(2);
    // The engine ignores what the old attempt says, and no error of it reaches anybody.
    const late = async (): Promise<void> => {
      await old.commit(committed.committables);
      await old.write(2);
      await old.prepare();
      await old.close();
    };
    const goesOn = async (): Promise<void> => {
      if (!old.gate.isDead) await late().catch(() => undefined);
      old.gate.kill();
    };
    await this.#runToEnd(world, { opened: goesOn });
    await this.#check(world, 'when an outdated attempt went on writing');
    for (const work of ['commit', 'recovery'] as const)
      for (let call = 0; await this.#outdatedStoodStill(work, call);) call++;
  }

  /**
   * An outdated process stands still before a call, and makes it when another has taken over and
   * has a checkpoint that is not committed yet. Gives whether so many calls were made.
   */
  async #outdatedStoodStill(work: 'commit' | 'recovery', call: number): Promise<boolean> {
    const world = this.#world();
    const { steps } = world;
    const old = world.newProcess();
    await old.recover(NO_CHECKPOINT);
    await old.startWriters(PARALLELISM);
    await old.write(INTERVALS[0] ?? 0);
    const checkpoint = await old.prepare();
    world.completed = checkpoint;
    world.stage = 1;
    steps.standStill(call);
    let outdated = old;
    if (work === 'recovery') {
      old.gate.kill();
      outdated = world.newProcess();
    }
    const late = (
      work === 'commit' ? old.commit(checkpoint.committables) : outdated.recover(checkpoint)
    ).catch(() => undefined);
    const stood = await Promise.race([steps.stood.then(() => true), late.then(() => false)]);
    if (stood)
      await this.#getOn(
        () => `when an outdated process stood still in its ${work}, before ${steps.at}`,
        world,
        onceAt(world, 'prepared', () => {
          steps.release();
          return late;
        }),
      );
    outdated.gate.kill();
    return stood;
  }

  /** What the others have prepared is still theirs. */
  async restartedInPart(): Promise<void> {
    const world = this.#world();
    const process = world.newProcess();
    const [first, , second, last] = INTERVALS as readonly [number, number, number, number];
    await process.recover(NO_CHECKPOINT);
    await process.startWriters(PARALLELISM);
    await process.write(first);
    await process.complete(await process.prepare());
    await process.write(second);
    await process.prepare();
    const when = 'when one subtask was restarted and the others went on';
    try {
      await process.restartWriter(0);
      await process.write(last);
      await process.complete(await process.prepare(true));
      await process.close();
    } catch (error) {
      throw new ConformanceError(`${when}: the job does not get on: ${messageOf(error)}. ${PART}`);
    }
    process.gate.kill();
    await this.#check(world, when);
  }

  /** Once in a run, in the middle of it; for the answers, at each call that publishes in turn. */
  async restartedInBetween(): Promise<void> {
    for (const place of ['written', 'prepared'] as const) {
      const world = this.#world();
      const restart = (): Promise<void> => world.clock.standStill(() => world.system.restart?.());
      const what = place === 'written' ? 'before the checkpoint' : 'before the commit';
      await this.#getOn(
        () => `when the server was restarted ${what}`,
        world,
        onceAt(world, place, restart),
      );
    }
    for (let call = 0; await this.#restartedBeforeAnswer(call);) call++;
  }

  /** Gives whether so many calls were made. */
  async #restartedBeforeAnswer(call: number): Promise<boolean> {
    const world = this.#world();
    const { steps } = world;
    // Without a committer the writer publishes, at the latest when a checkpoint asks for it.
    const place = this.#commits ? 'prepared' : 'written';
    const options = onceAt(world, place, async () =>
      steps.loseAnswer(call, () => world.clock.standStill(() => world.system.restart?.())),
    );
    let hadCall = true;
    await this.#getOn(() => `when the server was restarted before it answered ${steps.at}`, world, {
      ...options,
      complete: async (process, checkpoint) => {
        await options.complete(process, checkpoint);
        if (!steps.isArmed) return;
        hadCall = false;
        steps.disarm();
      },
    });
    return hadCall;
  }

  /** A run that must come to its end, and what a reader sees then. */
  async #getOn(
    when: () => string,
    world: World<T, S>,
    options: AttemptOptions<T, S> = {},
  ): Promise<void> {
    try {
      await this.#runToEnd(world, options);
    } catch (error) {
      if (error instanceof ConformanceError) throw error;
      throw new ConformanceError(`${when()}: the job does not get on: ${messageOf(error)}`);
    }
    await this.#check(world, when());
  }

  /** Of the newest world: whether all wait for a time that does not pass by itself. */
  get waitsForMs(): number | null {
    return this.#clock?.waitsForMs ?? null;
  }

  #world(steps?: Steps): World<T, S> {
    const world = new SinkWorld(this.#subject, steps);
    this.#clock = world.clock;
    return world;
  }

  /** Starts again whatever died or failed, as the engine and an operator do. */
  async #runToEnd(world: World<T, S>, options: AttemptOptions<T, S> = {}): Promise<void> {
    let last: unknown;
    for (let start = 0; start <= RESTARTS_MAX; start++) {
      try {
        await this.#attempt(world, options);
        return;
      } catch (error) {
        last = error;
        const isFatal = !(error instanceof ProcessDied) && errorKind(error) === 'user';
        if (isFatal || error instanceof ConformanceError) throw error;
      }
    }
    throw last;
  }

  async #attempt(world: World<T, S>, options: AttemptOptions<T, S>): Promise<void> {
    const process = world.newProcess();
    try {
      await process.run(() => this.#work(world, process, options));
    } finally {
      process.gate.kill();
    }
  }

  async #work(
    world: World<T, S>,
    process: Process<T, S>,
    options: AttemptOptions<T, S>,
  ): Promise<void> {
    const { parallelism = PARALLELISM, until = INTERVALS.length } = options;
    const complete =
      options.complete ?? ((one, checkpoint): Promise<void> => one.complete(checkpoint));
    await process.recover(world.completed);
    await process.startWriters(parallelism);
    await options.opened?.();
    while (world.stage < until) {
      const stage = world.stage;
      await process.write(INTERVALS[stage] ?? 0);
      await options.written?.();
      const checkpoint = await process.prepare(stage === INTERVALS.length - 1);
      // Stored before anything is committed: a crash in the commit finds it complete.
      world.stage = stage + 1;
      await complete(process, checkpoint);
    }
    if (until === INTERVALS.length) await process.close();
  }

  /** After the next start, a reader sees all records, and nothing is left half done. */
  async #check(world: World<T, S>, when: string, count = RECORDS): Promise<void> {
    const comparison = this.#comparison;
    const next = world.newProcess();
    await next.recover(world.completed);
    next.gate.kill();
    const expected = Array.from({ length: count }, (_, n) => world.record(n));
    const actual = await world.system.visible();
    const difference =
      comparison === null ? null : compareOutput('sink', comparison, { expected, actual });
    if (difference !== null) {
      const { missing, unexpected, changed } = difference;
      const texts = [
        named('missing', [...missing, ...changed.map((one) => one.expected)]),
        named('twice or not expected', [...unexpected, ...changed.map((one) => one.actual)]),
      ];
      const isMissing = missing.length + changed.length > 0;
      const meaning = isMissing ? MISSING : REPEATED;
      throw new ConformanceError(
        `${when}: ${texts.filter((text) => text !== '').join('; ')}. ${meaning}`,
      );
    }
    const unfinished = await world.system.unfinished();
    if (unfinished.length > 0)
      throw new ConformanceError(
        `${when}: left half done: ${unfinished.join(', ')}. ${LEFT_BEHIND}`,
      );
  }

  async #requireInvisible(world: World<T, S>, when: string): Promise<void> {
    const visible = await world.system.visible();
    if (visible.length === 0) return;
    throw new ConformanceError(
      `${when}: readers see ${visible.map(canonical).join(', ')}. ${TOO_EARLY}`,
    );
  }
}

/** The checkpoint is complete, and the process dies before it commits anything. */
function uncommitted<T, S extends ConformanceSystem<T>>(
  world: World<T, S>,
): (process: Process<T, S>, checkpoint: SinkCheckpoint) => Promise<void> {
  return (_process, checkpoint) => {
    world.completed = checkpoint;
    return Promise.resolve();
  };
}

/** Something in the middle of a run: behind the records of an interval or its checkpoint. */
function onceAt<T, S extends ConformanceSystem<T>>(
  world: World<T, S>,
  place: 'written' | 'prepared',
  act: () => Promise<void>,
): Required<Pick<AttemptOptions<T, S>, 'written' | 'complete'>> {
  let isDone = false;
  const at = async (here: typeof place, interval: number): Promise<void> => {
    if (isDone || here !== place || interval < RESTART_INTERVAL) return;
    isDone = true;
    await act();
  };
  return {
    written: () => at('written', world.stage),
    complete: async (process, checkpoint) => {
      // Counted already: its checkpoint is stored.
      await at('prepared', world.stage - 1);
      await process.complete(checkpoint);
    },
  };
}
