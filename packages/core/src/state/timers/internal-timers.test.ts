import { deepStrictEqual, strictEqual, throws } from 'node:assert/strict';
import { test } from 'node:test';
import type { KeyValue } from '../../api/functions.ts';
import { ManualClock } from '../../base/clock.ts';
import { readTimers } from '../snapshot/read-keyed.ts';
import { restoreTimers } from '../snapshot/restore.ts';
import { keyedSubtask, memoryEnvironment, takeSnapshot } from '../test-support.ts';
import type { FireTimer } from './timer-queue.ts';
import { InternalTimers } from './internal-timers.ts';

function newTimers(): InternalTimers {
  return new InternalTimers({ maxParallelism: 128, keyGroups: [0, 127] });
}

/** Notes what fires. */
function recorder(): { readonly fired: [KeyValue, number][]; readonly fire: FireTimer } {
  const fired: [KeyValue, number][] = [];
  return { fired, fire: (key, timestamp) => void fired.push([key, timestamp]) };
}

test('a timer registered twice fires once [I-75]', () => {
  const timers = newTimers();
  for (const key of ['a', 'a', 'b']) timers.register('event', key, 10);
  timers.register('event', ['t', 1], 10);
  timers.register('event', ['t', 1], 10);
  strictEqual(timers.size, 3);
  const { fired, fire } = recorder();
  strictEqual(timers.advanceWatermark(10, fire), true);
  deepStrictEqual(fired, [
    ['a', 10],
    ['b', 10],
    [['t', 1], 10],
  ]);
  timers.advanceWatermark(20, fire);
  strictEqual(fired.length, 3);
});

test('timers up to the watermark fire in order of time, also those registered meanwhile', () => {
  const timers = newTimers();
  for (const timestamp of [30, 10, 20, 31]) timers.register('event', 'a', timestamp);
  const times: number[] = [];
  timers.advanceWatermark(30, (key, timestamp) => {
    times.push(timestamp);
    if (timestamp === 20) {
      timers.register('event', key, 15);
      timers.register('event', 'b', 30);
      timers.register('event', key, 99);
    }
  });
  deepStrictEqual(times, [10, 20, 15, 30, 30]);
  strictEqual(timers.currentWatermark, 30);
  strictEqual(timers.size, 2);
});

test('firing stops when asked to and goes on where it stopped', () => {
  const timers = newTimers();
  for (const key of [1, 2, 3]) timers.register('event', key, 10);
  timers.register('event', 4, 11);
  const keys: KeyValue[] = [];
  const oneByOne: FireTimer = (key) => {
    keys.push(key);
    return false;
  };
  strictEqual(timers.advanceWatermark(11, oneByOne), false);
  timers.register('event', 5, 10);
  timers.delete('event', 2, 10);
  while (!timers.advanceWatermark(11, oneByOne));
  deepStrictEqual(keys, [1, 3, 5, 4]);
});

test('a timer that re-registers itself at its own time fires again', () => {
  const timers = newTimers();
  timers.register('event', 'a', 10);
  let times = 0;
  timers.advanceWatermark(10, (key, timestamp) => {
    if (++times < 3) timers.register('event', key, timestamp);
  });
  strictEqual(times, 3);
});

test('a deleted timer does not fire, and one moved again and again leaves nothing behind', () => {
  const timers = newTimers();
  for (let i = 0; i < 1000; i++) {
    timers.register('processing', 'a', i);
    timers.delete('processing', 'a', i - 1);
  }
  timers.delete('processing', 'nobody', 5);
  strictEqual(timers.size, 1);
  strictEqual(timers.nextProcessingTime(), 999);
  timers.delete('processing', 'a', 999);
  strictEqual(timers.nextProcessingTime(), null);
});

test('the two kinds of time do not touch each other', () => {
  const timers = newTimers();
  timers.register('event', 'a', 10);
  timers.register('processing', 'a', 20);
  const { fired, fire } = recorder();
  timers.advanceProcessingTime(15, fire);
  deepStrictEqual(fired, []);
  strictEqual(timers.nextProcessingTime(), 20);
  timers.advanceProcessingTime(25, fire);
  deepStrictEqual(fired, [['a', 20]]);
  strictEqual(timers.size, 1);
});

test('the watermark never goes back, and a timer behind it fires with the next advance', () => {
  const timers = newTimers();
  const { fired, fire } = recorder();
  timers.advanceWatermark(100, fire);
  timers.register('event', 'late', 50);
  timers.advanceWatermark(60, fire);
  strictEqual(timers.currentWatermark, 100);
  deepStrictEqual(fired, [['late', 50]]);
});

test('a timer at the time NaN is refused, saying where NaN comes from', () => {
  throws(() => newTimers().register('event', 'a', Number.NaN), {
    code: 'USER_FUNCTION_FAILED',
    message: /registered for the time NaN, under key a; .*assign timestamps at the source/,
  });
});

test('a time that is no number is refused: two dates of one time would be two timers', () => {
  const { backend, timers } = keyedSubtask({});
  const service = timers.serviceFor(backend, new ManualClock());
  backend.setCurrentKey('a');
  for (const [time, kind] of [
    [new Date(5), 'object'],
    [5n, 'bigint'],
    ['5', 'string'],
    [null, 'null'],
    [undefined, 'undefined'],
  ] as const) {
    const message = new RegExp(`of type ${kind}, under key a; give milliseconds .*, a number`);
    throws(() => service.registerEventTimeTimer(time as never), { message });
    throws(() => service.registerProcessingTimeTimer(time as never), { message });
    throws(() => service.deleteEventTimeTimer(time as never), { message });
  }
});

test('an overdue processing timer fires once after restore, with its time [R091]', async () => {
  const old = keyedSubtask({});
  const start = 1_000_000;
  old.timers.register('processing', 'a', start + 10_000);
  old.timers.register('processing', 'b', start + 90_000);
  const part = takeSnapshot(old);
  const fresh = newTimers();
  await restoreTimers(memoryEnvironment(), fresh, [part]);
  strictEqual(fresh.nextProcessingTime(), start + 10_000);
  const { fired, fire } = recorder();
  fresh.advanceProcessingTime(start + 60_000, fire);
  fresh.advanceProcessingTime(start + 61_000, fire);
  deepStrictEqual(fired, [['a', start + 10_000]]);
});

test('timers of a snapshot can be read without the job', async () => {
  const subtask = keyedSubtask({});
  subtask.timers.register('event', ['eu', 1], 10);
  const { data, snapshot } = takeSnapshot(subtask);
  const rows: unknown[] = [];
  for await (const { key, domain, timestamp } of readTimers(
    memoryEnvironment(),
    data,
    snapshot,
    [0, 127],
  ))
    rows.push([key, domain, timestamp]);
  deepStrictEqual(rows, [[['eu', 1], 'event', 10]]);
});

test('the service works on the current key and tells both times', () => {
  const { backend, timers } = keyedSubtask({});
  const clock = new ManualClock(0, 5000);
  const service = timers.serviceFor(backend, clock);
  throws(() => service.registerEventTimeTimer(1), /no key is current/);
  backend.setCurrentKey('a');
  service.registerEventTimeTimer(10);
  service.registerProcessingTimeTimer(20);
  service.registerProcessingTimeTimer(30);
  service.deleteProcessingTimeTimer(20);
  strictEqual(service.currentProcessingTime, 5000);
  strictEqual(service.currentWatermark, -Infinity);
  const { fired, fire } = recorder();
  timers.advanceWatermark(15, fire);
  timers.advanceProcessingTime(40, fire);
  deepStrictEqual(fired, [
    ['a', 10],
    ['a', 30],
  ]);
  service.registerEventTimeTimer(99);
  service.deleteEventTimeTimer(99);
  strictEqual(timers.size, 0);
  strictEqual(service.currentWatermark, 15);
});

test('a timer that went can be registered again, whatever its key remembers', () => {
  const { backend, timers, state } = keyedSubtask({ seen: { kind: 'value', default: false } });
  const service = timers.serviceFor(backend, new ManualClock());
  const register = (key: string): void => {
    backend.setCurrentKey(key);
    state.seen.update(true);
    service.registerEventTimeTimer(10);
  };
  register('a');
  register('a');
  register('b');
  strictEqual(timers.size, 2);
  timers.delete('event', 'a', 10);
  register('a');
  strictEqual(timers.size, 2, 'after it was deleted');
  timers.advanceWatermark(10, () => false);
  register('b');
  strictEqual(timers.size, 2, 'after it fired');
  timers.advanceWatermark(10, () => true);
  strictEqual(timers.size, 0);
  register('a');
  strictEqual(timers.size, 1, 'after all had fired');
});
