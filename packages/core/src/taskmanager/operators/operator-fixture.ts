/** For the tests of operators: a context on a clock that tests move, and what was emitted. */
import { ManualClock } from '../../base/clock.ts';
import type { JobId, OperatorId } from '../../base/ids.ts';
import type { LogLevel } from '../../base/logger.ts';
import { seededRandom } from '../../base/random.ts';
import type { EnumeratorEvent } from '../../protocol/messages.ts';
import { HeapKeyedStateBackend } from '../../state/heap/heap-keyed-state-backend.ts';
import { OperatorStateBackend } from '../../state/operator/operator-state-backend.ts';
import { InternalTimers } from '../../state/timers/internal-timers.ts';
import { MemoryFileSystem } from '../../storage/memory-file-system.ts';
import type { Output } from '../chain/output.ts';
import { ActiveOperator } from './active-operator.ts';
import type { OperatorContext } from './stream-operator.ts';

/** What an operator emitted: `['record', value, timestamp]`, `['watermark', t]`, `['idle', is]`. */
export type Emitted =
  | readonly ['record', unknown, number]
  | readonly ['watermark', number]
  | readonly ['idle', boolean];

export interface OperatorFixture {
  readonly context: OperatorContext;
  readonly clock: ManualClock;
  readonly emitted: Emitted[];
  readonly sides: Map<string, unknown[]>;
  readonly sent: EnumeratorEvent[];
  readonly failures: unknown[];
  readonly logged: string[];
  /** Answer of `canEmit`. */
  hasRoom: boolean;
  wakeUps: number;
}

export type KeySelectors = NonNullable<OperatorContext['keyed']>['keySelectors'];

export interface FixtureOptions extends Partial<
  Omit<OperatorContext, 'keyed' | 'clock' | 'output'>
> {
  /** Gives the operator keyed state and timers. */
  readonly keySelectors?: KeySelectors;
}

export function operatorFixture(options: FixtureOptions = {}): OperatorFixture {
  const { keySelectors, ...changes } = options;
  const clock = new ManualClock();
  const fixture: Omit<OperatorFixture, 'context'> = {
    clock,
    emitted: [],
    sides: new Map(),
    sent: [],
    failures: [],
    logged: [],
    hasRoom: true,
    wakeUps: 0,
  };
  const context: OperatorContext = {
    operator: {
      operatorId: '1'.repeat(32) as OperatorId,
      node: 0,
      type: 'test',
      name: 'Test',
      uid: 'tested',
      stateful: true,
      location: 'job.ts:7',
      chainedTo: [],
    },
    jobId: '2'.repeat(32) as JobId,
    attempt: { epoch: 1, counter: 1 },
    output: recordingOutput(fixture.emitted),
    sideOutput: (tag) => sideOutput(fixture.sides, tag),
    runtime: {
      subtask: 0,
      parallelism: 1,
      maxParallelism: 128,
      attemptNumber: 0,
      metrics: { counter: () => ({ add: () => undefined }) },
    },
    states: new OperatorStateBackend({ operatorName: 'tested', subtask: 0, parallelism: 1 }),
    keyed: keySelectors === undefined ? null : keyedStateOf(keySelectors),
    clock,
    random: seededRandom(1),
    fileSystem: new MemoryFileSystem(),
    logger: { log: (level: LogLevel, text) => void fixture.logged.push(`${level} ${text}`) },
    signal: new AbortController().signal,
    active: new ActiveOperator(),
    checkpointing: true,
    committerRetries: 10,
    autoWatermarkIntervalMs: 200,
    canEmit: () => result.hasRoom,
    wakeUp: () => void result.wakeUps++,
    fail: (error) => void fixture.failures.push(error),
    sendToEnumerator: (event) => void fixture.sent.push(event),
    ...changes,
  };
  const result: OperatorFixture = { ...fixture, context };
  return result;
}

function keyedStateOf(keySelectors: KeySelectors): NonNullable<OperatorContext['keyed']> {
  const keyGroups = [0, 127] as const;
  return {
    backend: new HeapKeyedStateBackend({
      maxParallelism: 128,
      keyGroups,
      operatorName: 'tested',
      freeze: true,
    }),
    timers: new InternalTimers({ maxParallelism: 128, keyGroups }),
    keySelectors,
  };
}

export function recordingOutput(emitted: Emitted[]): Output {
  return {
    collect: (value, timestamp) => void emitted.push(['record', value, timestamp]),
    emitWatermark: (timestamp) => void emitted.push(['watermark', timestamp]),
    emitIdle: (idle) => void emitted.push(['idle', idle]),
  };
}

function sideOutput(sides: Map<string, unknown[]>, tag: string): Output {
  return {
    collect(value) {
      const values = sides.get(tag) ?? [];
      sides.set(tag, [...values, value]);
    },
    emitWatermark: () => undefined,
    emitIdle: () => undefined,
  };
}

/** Lets promises under way go on. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}
