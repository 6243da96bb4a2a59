/**
 * `sinkConformance`: the cases that every sink must stand, as tests to be registered with whatever
 * runner there is. What is asked depends on how the sink says that it writes; one that says more
 * than it keeps fails.
 */
import type { Sink, WriteMode } from '@weir/core';
import type { Comparison } from '../simulate/compare-outputs.ts';
import { AUTO_MS, AutoClock } from './auto-clock.ts';
import { ConformanceError } from './broken-rules.ts';
import { ConformanceCases } from './conformance-cases.ts';
import type {
  ConformanceCaseName,
  ConformanceOptions,
  ConformanceSystem,
} from './conformance-subject.ts';
import { ProcessGate, Steps } from './process-gate.ts';

export interface ConformanceCase {
  /** A `ConformanceCaseName`; of one that has no subject, with the reason behind it. */
  readonly name: string;
  /** Why there is nothing to try: the sink or the system has no such thing. `null`: there is. */
  readonly withoutSubject: string | null;
  /** Rejects with what the sink does wrong. */
  readonly run: () => Promise<void>;
}

/**
 * The cases for a sink.
 *
 * @param makeSink the sink as a new process makes it; each call of it to the system goes through
 * `gate.call(name, act)`, where a process may die and messages may be lost. Files need none: the
 * sink is given `system.fileSystem` behind the gate.
 * A case that has no subject is there all the same: its name says so, and it does nothing.
 *
 * @param outerSystem a new, empty system, which keeps to the clock.
 */
export function sinkConformance<T, S extends ConformanceSystem<T>>(
  makeSink: (system: S, gate: ProcessGate) => Sink<T>,
  outerSystem: (clock: AutoClock) => S,
  options: ConformanceOptions<T>,
): readonly ConformanceCase[] {
  const system = outerSystem(new AutoClock());
  const sample = makeSink(system, new ProcessGate(new Steps()));
  requireParts(sample);
  const subject = { makeSink, outerSystem, options };
  const commits = sample.createCommitter !== undefined;
  const cases = new ConformanceCases(subject, { comparison: comparisonOf(sample), commits });
  const noCommits = commits ? null : 'the sink commits nothing';
  const all: readonly (readonly [ConformanceCaseName, string | null, () => Promise<void>])[] = [
    ['undisturbed', null, () => cases.undisturbed()],
    ['not before the checkpoint', noCommits, () => cases.notBeforeTheCheckpoint()],
    ['committed twice', noCommits, () => cases.committedTwice()],
    ['committed out of order', noCommits, () => cases.committedOutOfOrder()],
    ['aborted checkpoint', null, () => cases.abortedCheckpoint()],
    ['nothing to commit', null, () => cases.nothingToCommit()],
    ['probe', noCommits, () => cases.probe()],
    ['crash before every step', null, () => cases.atEveryStep('crash-before')],
    ['crash after every step', null, () => cases.atEveryStep('crash-after')],
    ['request lost at every step', null, () => cases.atEveryStep('lose-request')],
    ['answer lost at every step', null, () => cases.atEveryStep('lose-answer')],
    ['restored twice', null, () => cases.restoredTwice()],
    ['restored at another parallelism', null, () => cases.restoredAtAnotherParallelism()],
    ['restarted in part', null, () => cases.restartedInPart()],
    [
      'expired transaction',
      noCommits ?? without(system, 'expire'),
      () => cases.expiredTransaction(),
    ],
    ['fenced attempt', null, () => cases.fencedAttempt()],
    ['server restarted in between', without(system, 'restart'), () => cases.restartedInBetween()],
  ];
  return all.map(([name, lacks, run]): ConformanceCase => {
    const withoutSubject = options.without?.[name] ?? lacks;
    if (withoutSubject === null)
      return { name, withoutSubject, run: () => withinLimit(run(), cases) };
    return {
      name: `${name}: no subject, ${withoutSubject}`,
      withoutSubject,
      run: () => Promise.resolve(),
    };
  });
}

function without(system: ConformanceSystem<unknown>, part: 'expire' | 'restart'): string | null {
  return system[part] === undefined ? `the system has no ${part}` : null;
}

/** Without types, a part that is missing would show as a call of undefined in every case. */
function requireParts(sink: Sink<never>): void {
  const has = (name: string): boolean => typeof Reflect.get(sink, name) === 'function';
  if (!has('createWriter')) throw new ConformanceError(`sink ${sink.name} has no createWriter`);
  if (!WRITES.includes(sink.write))
    throw new ConformanceError(
      `sink ${sink.name} says "${sink.write}" of how it writes; it must be one of ` +
        WRITES.join(', '),
    );
  if (sink.write === 'two-phase-commit' && !has('createCommitter'))
    throw new ConformanceError(
      `sink ${sink.name} says that it writes in two phases, but has no createCommitter: nothing ` +
        'would ever be committed',
    );
}

const WRITES: readonly WriteMode[] = [
  'two-phase-commit',
  'write-ahead-log',
  'idempotent',
  'plain',
  'unacknowledged',
];

/** Of real time: a case takes a fraction of a second, unless it restarts a server. */
const LIMIT_MS = 30_000;

async function withinLimit(
  work: Promise<void>,
  clock: { readonly waitsForMs: number | null },
): Promise<void> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const text = `no end after ${LIMIT_MS / 1000} s: ${whatIsWaitedFor(clock.waitsForMs)}`;
    limit.reject(new ConformanceError(text));
  }, LIMIT_MS);
  try {
    await Promise.race([work, limit.promise]);
  } finally {
    clearTimeout(timer);
  }
}

export function whatIsWaitedFor(ms: number | null): string {
  if (ms === null || ms <= AUTO_MS) return 'a promise of the sink never settles';
  return (
    `the sink waits for ${ms} ms of its clock, and here no more than ${AUTO_MS} ms pass by ` +
    'themselves: let it wait less here before it tries again'
  );
}

/** What a reader may demand. */
function comparisonOf(sink: Sink<never>): Comparison | null {
  const isAtomic = Reflect.get(sink, 'confirmation') === 'atomic';
  const demands: Readonly<Record<WriteMode, Comparison | null>> = {
    'two-phase-commit': 'exact',
    'write-ahead-log': isAtomic ? 'exact' : 'repeatable',
    // Written again under its key, a record is there once.
    idempotent: 'exact',
    plain: 'repeatable',
    unacknowledged: null,
  };
  return demands[sink.write];
}
