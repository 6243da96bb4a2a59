import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { KeyedSnapshotCursor } from '../keyed-state-backend.ts';
import { restoreTimers } from '../snapshot/restore.ts';
import { MemoryOutput, finishSnapshot, keyedSubtask, memoryEnvironment } from '../test-support.ts';
import { ManualClock } from '../../base/clock.ts';
import type { KeyedSubtask } from '../test-support.ts';
import type { InternalTimers, TimeDomain } from './internal-timers.ts';

const KEYS = [0, 1, 'a', 'b'] as const;
const TIMES = 6;

const domain = fc.constantFrom<TimeDomain>('event', 'processing');
const key = fc.constantFrom(...KEYS);
const timestamp = fc.nat(TIMES);
const command = fc.oneof(
  fc.record({
    type: fc.constant('register' as const),
    domain,
    key,
    timestamp,
    direct: fc.boolean(),
  }),
  fc.record({ type: fc.constant('delete' as const), domain, key, timestamp }),
  fc.record({ type: fc.constant('advance' as const), domain, timestamp, count: fc.nat(4) }),
  fc.record({ type: fc.constant('start' as const) }),
  fc.record({ type: fc.constant('step' as const), which: fc.nat(), entries: fc.nat(3) }),
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

/** `domain key timestamp` of each pending timer. */
type Model = Set<string>;

interface Running {
  readonly cursor: KeyedSnapshotCursor;
  readonly output: MemoryOutput;
  readonly expected: Model;
}

/** Fires at most `count` timers and checks each against the model. */
function advance(timers: InternalTimers, model: Model, step: Command & { type: 'advance' }): void {
  if (step.count === 0) return;
  let left = step.count;
  let last = -1;
  const fire = (each: unknown, at: number): boolean => {
    strictEqual(model.delete(`${step.domain} ${String(each)} ${at}`), true);
    strictEqual(at >= last, true);
    last = at;
    return --left > 0;
  };
  const done =
    step.domain === 'event'
      ? timers.advanceWatermark(step.timestamp, fire)
      : timers.advanceProcessingTime(step.timestamp, fire);
  const until = step.domain === 'event' ? timers.currentWatermark : step.timestamp;
  const isDue = (text: string): boolean =>
    text.startsWith(step.domain) && Number(text.split(' ')[2]) <= until;
  if (done) strictEqual([...model].some(isDue), false);
}

function subtaskWithState(): Subtask {
  return keyedSubtask({ seen: { kind: 'value', default: false } });
}

type Subtask = KeyedSubtask<{
  readonly seen: { readonly kind: 'value'; readonly default: boolean };
}>;

/** As a function does that also keeps state for the key, or has not yet. */
function registerAsUser(
  { timers, backend, state }: Subtask,
  step: Command & { type: 'register' },
): void {
  backend.setCurrentKey(step.key);
  if (step.timestamp % 2 === 0) state.seen.update(true);
  const service = timers.serviceFor(backend, new ManualClock());
  if (step.domain === 'event') service.registerEventTimeTimer(step.timestamp);
  else service.registerProcessingTimeTimer(step.timestamp);
}

/** All timers that fire, over all new subtasks. */
async function restored(
  part: Parameters<typeof restoreTimers>[2][number],
  parallelism: number,
): Promise<Model> {
  const model: Model = new Set();
  for (let subtask = 0; subtask < parallelism; subtask++) {
    const { timers } = keyedSubtask({}, { parallelism, subtask });
    await restoreTimers(memoryEnvironment(), timers, [part]);
    timers.advanceWatermark(TIMES, (each, at) => void model.add(`event ${String(each)} ${at}`));
    timers.advanceProcessingTime(
      TIMES,
      (each, at) => void model.add(`processing ${String(each)} ${at}`),
    );
  }
  return model;
}

test('timers behave as a set, and each snapshot holds those of the moment it started', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(command, { maxLength: 80, size: 'max' }),
      fc.integer({ min: 1, max: 4 }),
      async (commands, parallelism) => {
        const subtask = subtaskWithState();
        const { timers, backend } = subtask;
        const model: Model = new Set();
        const running: Running[] = [];
        for (const step of commands) {
          if (step.type === 'register') {
            if (step.direct) timers.register(step.domain, step.key, step.timestamp);
            else registerAsUser(subtask, step);
            model.add(`${step.domain} ${step.key} ${step.timestamp}`);
          } else if (step.type === 'delete') {
            timers.delete(step.domain, step.key, step.timestamp);
            model.delete(`${step.domain} ${step.key} ${step.timestamp}`);
          } else if (step.type === 'advance') {
            advance(timers, model, step);
          } else if (step.type === 'start') {
            const output = new MemoryOutput();
            const cursor = timers.startSnapshot(output);
            running.push({ cursor, output, expected: new Set(model) });
          } else {
            running[step.which % Math.max(1, running.length)]?.cursor.step(step.entries);
          }
          strictEqual(timers.size, model.size);
        }
        for (const { cursor, output, expected } of running) {
          const part = finishSnapshot(subtask, output, backend.startSnapshot(output), cursor);
          deepStrictEqual(await restored(part, parallelism), expected);
        }
      },
    ),
    { numRuns: 300 },
  );
});
