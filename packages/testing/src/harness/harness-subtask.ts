/** One subtask of the operator under test, made of the engine's own parts as a task makes it. */
import type { ManualClock } from '@weir/core/internal/base/clock';
import type { JobId } from '@weir/core/internal/base/ids';
import { keyGroupRange } from '@weir/core/internal/base/key-groups';
import { seededRandom } from '@weir/core/internal/base/random';
import { HeapKeyedStateBackend } from '@weir/core/internal/state/heap/heap-keyed-state-backend';
import { OperatorStateBackend } from '@weir/core/internal/state/operator/operator-state-backend';
import { InternalTimers } from '@weir/core/internal/state/timers/internal-timers';
import { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import type { Output } from '@weir/core/internal/taskmanager/chain/output';
import { ActiveOperator } from '@weir/core/internal/taskmanager/operators/active-operator';
import { createOperator } from '@weir/core/internal/taskmanager/operators/create-operator';
import { KeyedOperator } from '@weir/core/internal/taskmanager/operators/keyed-operator';
import type {
  OperatorContext,
  StreamOperator,
} from '@weir/core/internal/taskmanager/operators/stream-operator';
import type { OperatorUnderTest } from './operator-under-test.ts';

export interface SubtaskPlace {
  readonly subtask: number;
  /** Of the run so far. */
  readonly attempt: number;
  readonly clock: ManualClock;
  readonly output: Output;
  sideOutput(tag: string): Output;
  /** Told what surfaced outside of a call. */
  fail(error: unknown): void;
}

export interface HarnessSubtask {
  readonly operator: StreamOperator;
  readonly keyed: HeapKeyedStateBackend | null;
  readonly timers: InternalTimers | null;
  readonly states: OperatorStateBackend;
}

const JOB_ID = '0'.repeat(32) as JobId;

export function makeSubtask(tested: OperatorUnderTest, place: SubtaskPlace): HarnessSubtask {
  const { node, vertex, operator } = tested;
  const { parallelism, maxParallelism } = vertex;
  const { subtask, attempt, clock } = place;
  const operatorName = node.uid ?? node.name;
  const states = new OperatorStateBackend({ operatorName, subtask, parallelism, freeze: true });
  const keyGroups = keyGroupRange(maxParallelism, parallelism, subtask);
  const isKeyed = node.spec.type.startsWith('keyed');
  const keyed = isKeyed
    ? new HeapKeyedStateBackend({ maxParallelism, keyGroups, operatorName, freeze: true })
    : null;
  const timers = isKeyed ? new InternalTimers({ maxParallelism, keyGroups }) : null;
  const keySelectors = node.keySelectors.map((selector) => selector ?? (() => 0));
  const context: OperatorContext = {
    operator,
    jobId: JOB_ID,
    attempt: { epoch: 1, counter: attempt + 1 },
    output: place.output,
    sideOutput: (tag) => place.sideOutput(tag),
    runtime: {
      subtask,
      parallelism,
      maxParallelism,
      attemptNumber: attempt,
      metrics: { counter: () => ({ add: () => undefined }) },
    },
    states,
    keyed: keyed === null || timers === null ? null : { backend: keyed, timers, keySelectors },
    clock,
    random: seededRandom(subtask),
    fileSystem: new MemoryFileSystem(),
    logger: { log: () => undefined },
    signal: new AbortController().signal,
    active: new ActiveOperator(),
    checkpointing: true,
    committerRetries: 0,
    autoWatermarkIntervalMs: 200,
    canEmit: () => true,
    wakeUp: () => undefined,
    fail: (error) => place.fail(error),
    sendToEnumerator: () => undefined,
  };
  return { operator: createOperator(node, context), keyed, timers, states };
}

/** What the task does between records: timers that are due on the wall clock. */
export function runDue({ operator }: HarnessSubtask): void {
  operator.resume();
  if (operator instanceof KeyedOperator) operator.fireProcessingTimers();
}
