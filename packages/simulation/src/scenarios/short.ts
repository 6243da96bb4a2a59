/**
 * Short schedules of fixed jobs: a quick disk, two or three checkpoints, no faults. Each event of
 * one can be tried in turn. The seed decides about time and order only.
 */
import { Configuration } from '@weir/core/internal/base/configuration';
import type { JobSpec, OperatorSpec, SinkSpec, SourceSpec } from '../jobs/job-spec.ts';
import type { SchedulePlan } from './plan.ts';
import type { Scenario } from './scenario.ts';

/** Counts by key, into transactions and part files; one thread. */
const COUNTS: JobSpec = {
  name: 'short',
  chaining: true,
  streams: [source('s0', [5]), operator('count', 'o1', [0])],
  sinks: [sink('k1', 1, 'transactions'), sink('k2', 1, 'files')],
};

/** Two sources, event time, windows with their timers; one thread. */
const WINDOWS: JobSpec = {
  name: 'short',
  chaining: true,
  streams: [
    source('s0', [4]),
    source('s1', [3]),
    operator('union', 'o2', [0, 1]),
    { ...operator('window', 'o3', [2]), size: 20 },
  ],
  sinks: [sink('k3', 3, 'transactions')],
};

/** Two threads: records cross them, operator state and held records with their timers. */
const THREADS: JobSpec = {
  name: 'short',
  chaining: true,
  streams: [
    source('s0', [2, 2]),
    { ...operator('hold', 'o1', [0]), size: 10 },
    { ...operator('buffer', 'o2', [1]), size: 3, startsChain: true },
  ],
  sinks: [sink('k2', 2, 'files')],
};

export const SHORT_SCENARIOS: readonly Scenario[] = [
  {
    name: 'short-counts',
    about: 'a small job without faults, for a crash at every event: counts, transactions, files',
    draw: () => planOf(COUNTS, 1),
  },
  {
    name: 'short-windows',
    about: 'a small job without faults, for a crash at every event: event time and windows',
    draw: () => planOf(WINDOWS, 1),
  },
  {
    name: 'short-threads',
    about: 'a small job without faults, for a crash at every event: two threads, held records',
    draw: () => planOf(THREADS, 2),
  },
];

function source(name: string, counts: readonly number[]): SourceSpec {
  return {
    type: 'source',
    name,
    splits: counts.map((count, number) => ({
      id: `${name}.${number}`,
      count,
      firstTs: 1000,
      stepTs: 10,
    })),
    keys: 3,
    burst: 1,
    pauseMs: 8,
    parallelism: null,
    idlenessMs: null,
    assignment: 'first',
    reader: 'simulated',
  };
}

function operator(
  kind: OperatorSpec['kind'],
  name: string,
  inputs: readonly number[],
): OperatorSpec {
  const placed = { parallelism: null, partition: 'none', startsChain: false, size: 1 } as const;
  return { type: 'operator', kind, name, inputs, ...placed };
}

function sink(name: string, input: number, kind: SinkSpec['kind']): SinkSpec {
  return { name, input, kind, parallelism: null, size: 2 };
}

function planOf(job: JobSpec, parallelism: number): SchedulePlan {
  const configuration = Configuration.of(
    {
      'execution.checkpointing.interval': 20,
      'execution.checkpointing.timeout': 1000,
      'execution.checkpointing.tolerable-failed-checkpoints': 100,
      'execution.buffer-timeout.interval': 1,
      'execution.checkpointing.data-inline-threshold': 0,
      'pipeline.auto-watermark-interval': 10,
      'pipeline.max-parallelism': 8,
      'restart-strategy.type': 'fixed-delay',
      'restart-strategy.fixed-delay.attempts': 100,
      'restart-strategy.fixed-delay.delay': 1,
    },
    'short',
  );
  return {
    settings: { configuration, mode: 'EXACTLY_ONCE', exactlyOnce: true, commitsAtEnd: false },
    job,
    moods: {
      disk: {
        latencyMs: 0.05,
        slowness: 1,
        failure: 0,
        lostAnswer: 0,
        bitFlip: 0,
        isFull: false,
      },
      link: { latencyMs: 0.2, cloggedUntil: 0 },
      pace: { stepMs: 0.2, jitterMs: 0 },
      linkCapacity: 4,
      encodesFrames: false,
      shortcuts: { sharesPlans: true, plainChains: true },
    },
    outerLatencyMs: 0.1,
    parallelisms: [parallelism],
    healAt: 0,
    faults: [],
    sequences: [],
    atEvent: null,
    savepoint: null,
  };
}
