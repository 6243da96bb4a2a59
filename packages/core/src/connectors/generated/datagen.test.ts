import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../../base/random.ts';
import { SourceDriver, settle, testEnvironment } from '../test-support.ts';
import type { SourceCheckpoint } from '../test-support.ts';
import { datagen, fromCollection, sequence } from './datagen.ts';
import type { IndexRange, IndexRangesState } from './index-ranges.ts';

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

test('a sequence gives every number once, shared by the subtasks', async () => {
  const driver = new SourceDriver(sequence(-3, 40), testEnvironment());
  await driver.start(3);
  await driver.finish(5);
  assert.deepEqual(
    driver.values.toSorted((a, b) => a - b),
    range(-3, 40),
  );
});

test('an empty sequence and an empty collection end at once', async () => {
  for (const source of [sequence(1, 0), fromCollection<number>([])]) {
    const driver = new SourceDriver(source, testEnvironment());
    await driver.start(2);
    await driver.finish();
    assert.deepEqual(driver.values, []);
  }
});

test('a collection keeps its order, at any parallelism, undefined included', async () => {
  const values = [3, undefined, 'x', null, ...range(1, 100)];
  const driver = new SourceDriver(fromCollection(values), testEnvironment());
  await driver.start(3);
  await driver.finish(7);
  assert.deepEqual(driver.values, values);
});

test('the position of generated records is the next index [R004]', async () => {
  const source = fromCollection(['a', 'b', 'c', 'd']);
  const first = new SourceDriver(source, testEnvironment());
  await first.start();
  first.poll(0, 3);
  await settle();
  first.poll(0, 3);
  const checkpoint = first.snapshot();
  assert.deepEqual(checkpoint.values, ['a', 'b', 'c']);
  assert.deepEqual(checkpoint.splits, [{ next: 3, end: 4 }]);
  assert.equal(source.describeSplit?.(checkpoint.splits[0]!), 'index 3 of [… 4)');
  const second = new SourceDriver(source, testEnvironment());
  await second.start(1, checkpoint);
  await second.finish();
  assert.deepEqual(second.values, ['d']);
});

test('generated records come exactly once over crashes and other parallelisms', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.integer({ min: 0, max: 300 }), async (seed, count) => {
      const random = seededRandom(seed);
      const source = datagen({ generator: (index) => index, count });
      const committed: number[] = [];
      let checkpoint: SourceCheckpoint<IndexRange, IndexRangesState> | undefined;
      for (let crashes = random.int(5); crashes > 0; crashes--) {
        const driver = new SourceDriver(source, testEnvironment());
        const parallelism = 1 + random.int(4);
        await driver.start(parallelism, checkpoint);
        for (let step = random.int(20); step > 0; step--) {
          driver.poll(random.int(parallelism), random.int(30));
          if (random.int(2) === 0) await settle();
          if (random.int(3) > 0) continue;
          const taken = driver.snapshot();
          committed.push(...taken.values);
          checkpoint = taken;
        }
      }
      const last = new SourceDriver(source, testEnvironment());
      await last.start(1 + random.int(4), checkpoint);
      await last.finish(1 + random.int(100));
      const values = [...committed, ...last.values].toSorted((a, b) => a - b);
      assert.deepEqual(values, range(0, count - 1));
    }),
  );
});

test('ranges that come back from a failed reader are handed out again, in order', async () => {
  const assigned: IndexRange[] = [];
  const context = {
    ...testEnvironment(),
    parallelism: 1,
    registeredReaders: () => [0],
    assignSplits: (_subtask: number, ranges: readonly IndexRange[]) =>
      void assigned.push(...ranges),
    signalNoMoreSplits: () => undefined,
    sendEvent: () => undefined,
    fail: () => undefined,
  };
  const source = sequence(0, 49_999);
  const first = source.createEnumerator(context);
  for (let request = 0; request < 3; request++) await first.handleSplitRequest(0);
  first.addSplitsBack([assigned[2]!, { ...assigned[1]!, next: 15_000 }], 0);
  const state = structuredClone(first.snapshotState(1));
  const second = source.createEnumerator(context, state);
  assigned.length = 0;
  for (let request = 0; request < 3; request++) await second.handleSplitRequest(0);
  assert.deepEqual(assigned, [
    { next: 15_000, end: 20_000 },
    { next: 20_000, end: 30_000 },
    { next: 30_000, end: 40_000 },
  ]);
});

test('a generator without count never ends, and keeps to its rate', async () => {
  const environment = testEnvironment();
  const source = datagen({ generator: (index) => ({ index }), rate: 200 });
  assert.equal(source.boundedness, 'unbounded');
  const driver = new SourceDriver(source, environment);
  await driver.start(2);
  for (let ms = 0; ms < 1000; ms += 10) {
    await driver.drain(Infinity, 3);
    environment.clock.advance(10);
  }
  const count = driver.collected.length;
  assert.ok(count >= 190 && count <= 205, `${count} records in 1 s`);
  const seen = new Set(driver.values.map(({ index }) => index));
  assert.equal(seen.size, count);
  await driver.close();
  assert.equal(environment.clock.pendingCount(), 0);
});

test('a slow rate gives its first record at once and the next in time', async () => {
  const environment = testEnvironment();
  const driver = new SourceDriver(datagen({ generator: String, rate: 0.5 }), environment);
  await driver.start();
  await driver.drain();
  assert.deepEqual(driver.values, ['0']);
  environment.clock.advance(1999);
  await driver.drain();
  assert.deepEqual(driver.values, ['0']);
  environment.clock.advance(1);
  await driver.drain();
  assert.deepEqual(driver.values, ['0', '1']);
});

test('a generator that throws is named with the index', async () => {
  const generator = (index: number): number => {
    if (index === 2) throw new Error('boom');
    return index;
  };
  const driver = new SourceDriver(datagen({ generator, count: 5 }), testEnvironment());
  await driver.start();
  await assert.rejects(driver.finish(), /generator of datagen threw at index 2: boom/);
});

test('bounds and rates that cannot work are refused by name', () => {
  assert.throws(() => sequence(1, -5), /sequence: 1 to -5/);
  assert.throws(() => sequence(0.5, 2), /sequence: 0.5 to 2/);
  assert.throws(() => datagen({ generator: String, rate: -1 }), /datagen rate: -1/);
  assert.throws(() => datagen({ generator: String, count: 1.5 }), /datagen count: 1.5/);
});
