import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { ConfigurationError, StorageUnavailableError } from '../base/errors.ts';
import { Retries } from './retries.ts';
import type { RetriesOptions } from './retries.ts';
import { settle } from './test-support.ts';

interface World {
  readonly retries: Retries;
  readonly clock: ManualClock;
  /** Ends the task. */
  readonly ending: AbortController;
  /** With the second in which each was logged. */
  readonly logged: string[];
}

function world(options: Partial<RetriesOptions> = {}): World {
  const clock = new ManualClock();
  const ending = new AbortController();
  const logged: string[] = [];
  const logger = {
    log: (level: string, text: string) =>
      void logged.push(`${clock.now() / 1000} ${level} ${text}`),
  };
  const all = { name: 'sink orders', retryForMs: 600_000, ...options };
  const retries = new Retries({ clock, logger, signal: ending.signal }, all);
  return { retries, clock, ending, logged };
}

async function pass(clock: ManualClock, ms: number, stepMs = 1000): Promise<void> {
  await settle();
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(stepMs);
    await settle();
  }
}

const EVERY_SECOND = { firstDelayMs: 1000, maxDelayMs: 1000 };

test('what fails is told of after 5, 30, 60 s and each minute, and when it succeeds', async () => {
  const { retries, clock, logged } = world(EVERY_SECOND);
  let isAway = true;
  const result = retries.run(async () => {
    if (isAway) throw new StorageUnavailableError(`no answer at ${clock.now()}`);
    return 'done';
  });
  await pass(clock, 185_000);
  assert.deepEqual(
    logged,
    [
      ['5 warn', '5 s', '5000'],
      ['30 warn', '30 s', '30000'],
      ['60 warn', '1 min', '60000'],
      ['120 warn', '2 min', '120000'],
      ['180 warn', '3 min', '180000'],
    ].map(
      ([when, long, at]) =>
        `${when} sink orders has not got through for ${long}: no answer at ${at}; trying again, ` +
        'until retryForMs of 10 min is over',
    ),
  );
  logged.length = 0;
  isAway = false;
  await pass(clock, 10_000);
  assert.equal(await result, 'done');
  assert.deepEqual(logged, ['186 info sink orders gets through again, after 186 s']);
});

test('what is over before anybody was told of it is not told of', async () => {
  const { retries, clock, logged } = world(EVERY_SECOND);
  const result = retries.run(async () => {
    if (clock.now() < 4000) throw new StorageUnavailableError('away');
  });
  await pass(clock, 4000);
  await result;
  assert.deepEqual(logged, []);
});

test('delays grow to a limit, and are as long as the system asks', async () => {
  const { retries, clock } = world({ firstDelayMs: 100, maxDelayMs: 400 });
  const triedAt: number[] = [];
  const asked = new Map([[1500, 1000]]);
  const result = retries.run(
    async () => {
      triedAt.push(clock.now());
      if (triedAt.length < 7) throw new StorageUnavailableError('away');
    },
    () => asked.get(clock.now()) ?? 0,
  );
  await pass(clock, 5000, 100);
  await result;
  assert.deepEqual(triedAt, [0, 100, 300, 700, 1100, 1500, 2500]);
});

test('what was tried for long enough fails, naming the sink, the time and the option', async () => {
  const { retries, clock } = world({ retryForMs: 200 });
  const away = new StorageUnavailableError('no answer', { details: { place: 'there' } });
  const failed = assert.rejects(
    retries.run(() => Promise.reject(away)),
    {
      kind: 'transient',
      code: 'SINK_UNAVAILABLE',
      message:
        'sink orders has not got through for 150 ms: no answer; a larger retryForMs waits longer',
      details: { place: 'there' },
      cause: away,
    },
  );
  await pass(clock, 200, 50);
  await failed;
});

test('a step within a step uses the time up for both', async () => {
  const { retries: inner, clock } = world({ name: 'inner', retryForMs: 200 });
  const { retries: outer } = world({ name: 'outer' });
  const failed = assert.rejects(
    outer.run(() => inner.run(() => Promise.reject(new StorageUnavailableError('away')))),
    { message: 'inner has not got through for 150 ms: away; a larger retryForMs waits longer' },
  );
  await pass(clock, 200, 50);
  await failed;
});

test('what no later try mends, or may be tried but once, fails as it is', async () => {
  const wrong = new ConfigurationError('no such table');
  await assert.rejects(
    world().retries.run(() => Promise.reject(wrong)),
    wrong,
  );
  const away = new StorageUnavailableError('away');
  await assert.rejects(
    world({ retryForMs: 0 }).retries.run(() => Promise.reject(away)),
    away,
  );
});

for (const how of ['closed', 'ended by its task'])
  test(`${how} between two tries, it fails at once with what it failed with last`, async () => {
    const { retries, clock, ending } = world();
    let tries = 0;
    const away = new StorageUnavailableError('away');
    const failed = assert.rejects(
      retries.run(() => {
        tries++;
        return Promise.reject(away);
      }),
      away,
    );
    await settle();
    if (how === 'closed') retries.close();
    else ending.abort();
    await failed;
    retries.close();
    assert.equal(tries, 1);
    assert.equal(clock.pendingCount(), 0, 'nothing is left behind');
  });

test('a step on its way when it is closed counts, and is not broken off', async () => {
  const { retries, clock } = world();
  const step = Promise.withResolvers<string>();
  const result = retries.run(() => step.promise);
  retries.close();
  await pass(clock, 10_000);
  assert.equal(retries.cut.aborted, false);
  step.resolve('written');
  assert.equal(await result, 'written');
});

test('a step on its way when its task ends has two seconds, then it is broken off', async () => {
  const { retries, clock, ending } = world();
  let tries = 0;
  const broken = new StorageUnavailableError('broken off');
  const cutOff = (): Promise<never> =>
    new Promise((_, reject) => {
      tries++;
      retries.cut.addEventListener('abort', () => reject(broken));
    });
  const failed = assert.rejects(retries.run(cutOff), broken);
  await settle();
  ending.abort();
  await pass(clock, 1900, 100);
  assert.equal(retries.cut.aborted, false);
  await pass(clock, 100, 100);
  await failed;
  await assert.rejects(retries.run(cutOff), {
    kind: 'cancelled',
    message: 'sink orders is ended by its task',
  });
  assert.equal(tries, 1);
});

test('in a task that has ended there is one try, within two seconds', async () => {
  const { clock, ending } = world();
  ending.abort();
  const logger = { log: () => assert.fail('nothing to tell') };
  const late = new Retries(
    { clock, logger, signal: ending.signal },
    { name: 'late', retryForMs: 1000 },
  );
  assert.equal(await late.run(async () => 'done'), 'done');
  const away = new StorageUnavailableError('away');
  await assert.rejects(
    late.run(() => Promise.reject(away)),
    away,
  );
  clock.advance(2000);
  assert.equal(late.cut.aborted, true);
});
