/** The source's rules, against the model of a broker. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWeirError } from '@weir/core';
import { newWorld } from '../model/sink-fixture.ts';
import { append, SourceRun } from '../model/source-fixture.ts';

function endsJob(message: RegExp) {
  return (error: unknown): boolean =>
    isWeirError(error) && error.kind === 'user' && message.test(error.message);
}

test('a restored position wins over the configured start, nothing repeats [R004]', async () => {
  const world = newWorld();
  append(world, 0, '1', '2', '3');
  const first = new SourceRun(world);
  await first.start();
  assert.deepEqual(await first.read(3), ['1', '2', '3']);
  const restored = first.snapshot(1);
  await first.close();
  append(world, 0, '4');
  const second = new SourceRun(world, { start: 'earliest' }, { restored });
  await second.start();
  assert.deepEqual(await second.read(), ['4']);
  await second.close();
});

test('the end of an empty partition, as a start, is a number (failure 20) [R032]', async () => {
  const world = newWorld(3);
  append(world, 0, 'old a');
  append(world, 1, 'old b');
  const first = new SourceRun(world, { start: 'latest' });
  await first.start();
  assert.deepEqual(await first.read(), []);
  const restored = first.snapshot(1);
  await first.close();
  for (const partition of [0, 1, 2]) append(world, partition, `new ${partition}`);
  const second = new SourceRun(world, { start: 'latest' }, { restored });
  await second.start();
  assert.deepEqual([...(await second.read())].toSorted(), ['new 0', 'new 1', 'new 2']);
  await second.close();
});

test('partitions that were found and not yet read keep their start (failure 21)', async () => {
  const world = newWorld(2);
  const first = new SourceRun(world, { start: 'latest' });
  await first.start();
  const { enumerator, splits } = first.snapshot(1);
  await first.close();
  append(world, 0, 'a');
  append(world, 1, 'b');
  // As if no reader had registered before the snapshot.
  const restored = { enumerator: { ...enumerator, unassigned: splits }, splits: [] };
  const second = new SourceRun(world, { start: 'latest' }, { restored });
  await second.start();
  assert.deepEqual([...(await second.read())].toSorted(), ['a', 'b']);
  await second.close();
});

test('a position that is gone ends the job, telling the loss (failure 22) [R040]', async () => {
  const world = newWorld();
  append(world, 0, '0', '1', '2', '3', '4');
  const first = new SourceRun(world);
  await first.start();
  await first.read(5);
  const restored = first.snapshot(1);
  await first.close();
  append(world, 0, '5', '6', '7', '8');
  append(world, 0, '9');
  world.broker.log('out', 0).trim(9);
  const second = new SourceRun(world, {}, { restored });
  await second.start();
  await assert.rejects(
    second.read(),
    endsJob(/offsets 5\.\.8 of out\/0 no longer exist; going on would lose 4 record\(s\)/),
  );
  await second.close();
  const third = new SourceRun(world, { onOutOfRange: 'earliest' }, { restored });
  await third.start();
  assert.deepEqual(await third.read(), ['9']);
  assert.equal(third.counter('recordsSkippedOutOfRange'), 4);
  await third.close();
});

test('a topic that was made anew ends the job', async () => {
  const world = newWorld();
  append(world, 0, 'a');
  const first = new SourceRun(world);
  await first.start();
  await first.read(1);
  const restored = first.snapshot(1);
  await first.close();
  world.broker.deleteTopic('out');
  world.broker.createTopic('out', 1);
  const second = new SourceRun(world, {}, { restored });
  await assert.rejects(second.start(), endsJob(/topic out was deleted and made anew/));
  await second.close();
});

test('a topic that is missing is named', async () => {
  const run = new SourceRun(newWorld(), { topics: 'nowhere' });
  await assert.rejects(run.start(), endsJob(/Kafka has no topic nowhere/));
  await run.close();
});

test('a partition found later is read from its beginning', async () => {
  const world = newWorld(1);
  const run = new SourceRun(world, { start: 'latest', discoveryIntervalMs: 10_000 });
  await run.start();
  world.broker.addPartition('out');
  append(world, 1, 'early');
  world.clock.advance(10_000);
  assert.deepEqual(await run.read(), ['early']);
  await run.close();
});

test('a partition that the broker no longer lists keeps its position [R034]', async () => {
  const world = newWorld(2);
  append(world, 0, 'a');
  append(world, 1, 'b', 'c');
  const first = new SourceRun(world);
  await first.start();
  await first.read(3);
  const { splits, enumerator } = first.snapshot(1);
  await first.close();
  const ghost = { ...splits[0]!, partition: 7, next: 20 };
  const restored = {
    splits: [...splits, ghost],
    enumerator: { ...enumerator, found: [...enumerator.found, ghost] },
  };
  const second = new SourceRun(world, {}, { restored });
  await second.start();
  await second.read();
  assert.match(world.logged.join('\n'), /no longer lists out\/7; its position is kept/);
  assert.ok(second.snapshot(2).splits.some((it) => it.partition === 7 && it.next === 20));
  await second.close();
});

test('the positions of the completed checkpoint are committed, not later ones [R035]', async () => {
  const world = newWorld();
  append(world, 0, 'a', 'b', 'c');
  const run = new SourceRun(world, { groupId: 'shown' });
  await run.start();
  await run.read(2);
  run.snapshot(3);
  await run.read(3);
  run.complete(3);
  await run.read();
  assert.equal(world.broker.committedOffset('shown', 'out', 0), 2);
  await run.close();
});

test('committed offsets are a start, and what stands in their place is chosen [R020]', async () => {
  const world = newWorld(2);
  append(world, 0, 'a', 'b');
  append(world, 1, 'c');
  const first = new SourceRun(world, { groupId: 'g', topics: 'out' });
  await first.start();
  await first.read(1);
  const read = first.values[0] === 'c' ? 1 : 0;
  first.snapshot(1);
  first.complete(1);
  await first.read();
  await first.close();
  const second = new SourceRun(world, { groupId: 'g', start: { committed: 'fail' } });
  await second.start();
  const values = await second.read();
  assert.equal(values.includes(read === 0 ? 'a' : 'c'), false, 'offset 0 was committed as read');
  await second.close();
  const third = new SourceRun(world, { groupId: 'other', start: { committed: 'fail' } });
  await assert.rejects(third.start(), endsJob(/group other has committed no offset of out/));
  await third.close();
});

test('a bounded source reads what was there at the start and ends', async () => {
  const world = newWorld(2);
  append(world, 0, 'a', 'b');
  const run = new SourceRun(world, { bounded: 'latest' }, { parallelism: 3 });
  await run.start();
  append(world, 0, 'too late');
  assert.deepEqual(await run.read(), ['a', 'b']);
  assert.equal(run.hasEnded, true);
  await run.close();
});

test('an unbounded source that is restored as a bounded one ends', async () => {
  const world = newWorld(2);
  append(world, 0, 'a', 'b');
  const first = new SourceRun(world);
  await first.start();
  await first.read();
  const restored = first.snapshot(1);
  await first.close();
  append(world, 0, 'c');
  append(world, 1, 'd');
  const second = new SourceRun(world, { bounded: 'latest' }, { restored, parallelism: 3 });
  const early = second.snapshot(1).splits.map((split) => split.next);
  assert.deepEqual(early, [2, 0], 'a position is kept while the end is looked for');
  await second.start();
  append(world, 0, 'too late');
  assert.deepEqual([...(await second.read())].sort(), ['c', 'd']);
  assert.equal(second.hasEnded, true);
  await second.close();
});

test('a bounded source that is restored as an unbounded one reads on', async () => {
  const world = newWorld(2);
  append(world, 0, 'a');
  append(world, 1, 'b', 'c');
  const first = new SourceRun(world, { bounded: 'latest' });
  await first.start();
  assert.equal((await first.read(2)).length, 2);
  const restored = first.snapshot(1);
  await first.close();
  append(world, 0, 'd');
  append(world, 1, 'e');
  const second = new SourceRun(world, {}, { restored, parallelism: 2 });
  await second.start();
  assert.deepEqual([...(await second.read())].sort(), ['c', 'd', 'e']);
  assert.equal(second.hasEnded, false);
  await second.close();
});

test('a bounded source that is restored keeps the end that it found first', async () => {
  const world = newWorld(1);
  append(world, 0, 'a', 'b');
  const first = new SourceRun(world, { bounded: 'latest' });
  await first.start();
  await first.read(1);
  const restored = first.snapshot(1);
  await first.close();
  append(world, 0, 'later');
  const second = new SourceRun(world, { bounded: 'latest' }, { restored });
  await second.start();
  assert.deepEqual(await second.read(), ['b']);
  assert.equal(second.hasEnded, true);
  await second.close();
});

test('a subtask of an unbounded source does not end without a partition (failure 23)', async () => {
  const world = newWorld(1);
  append(world, 0, 'a');
  const run = new SourceRun(world, {}, { parallelism: 4 });
  await run.start();
  assert.deepEqual(await run.read(), ['a']);
  assert.equal(run.hasEnded, false);
  assert.deepEqual(run.told, ['1: no split', '2: no split', '3: no split'], 'they are idle');
  await run.close();
});

test('restored at more subtasks, those without a partition are idle (failure 23)', async () => {
  const world = newWorld(1);
  const first = new SourceRun(world);
  await first.start();
  await first.read();
  assert.deepEqual(first.told, [], 'a subtask with a partition holds back event time');
  const restored = first.snapshot(1);
  await first.close();
  const second = new SourceRun(world, {}, { restored, parallelism: 2 });
  await second.start();
  await second.read();
  assert.deepEqual(second.told, ['1: no split']);
  await second.close();
});

test('a partition read to its end holds back nobody, while others go on', async () => {
  const world = newWorld(2);
  append(world, 0, 'a');
  append(world, 1, ...Array.from({ length: 300 }, (_, index) => `b${index}`));
  const run = new SourceRun(world, { bounded: 'latest' });
  await run.start();
  await run.read(150);
  assert.deepEqual(run.told, ['0: out/0 finished']);
  await run.read();
  assert.equal(run.values.length, 301);
  assert.equal(run.hasEnded, true);
  await run.close();
});

test('a poison record fails with its place, is skipped, or is emitted [R107]', async () => {
  const world = newWorld();
  append(world, 0, '1', 'x', '3');
  const value = {
    deserialize: (record: { valueText(): string | null }): string => {
      const text = record.valueText() ?? '';
      if (Number.isNaN(Number(text))) throw new Error('no number');
      return text;
    },
  };
  const failing = new SourceRun(world, { value });
  await failing.start();
  await assert.rejects(
    failing.read(),
    (error) =>
      isWeirError(error) &&
      error.code === 'RECORD_MALFORMED' &&
      /out\/0 offset 1 cannot be read: no number/.test(error.message),
  );
  assert.equal(failing.snapshot(1).splits[0]?.next, 1);
  await failing.close();
  const skipping = new SourceRun(world, { value, onMalformed: 'skip' });
  await skipping.start();
  assert.deepEqual(await skipping.read(), ['1', '3']);
  assert.equal(skipping.counter('malformedRecords'), 1);
  await skipping.close();
  const emitting = new SourceRun(world, { value, onMalformed: 'emit' });
  await emitting.start();
  assert.deepEqual(await emitting.read(), ['1', 'malformed 1', '3']);
  await emitting.close();
});

test('a broker that is away for a while is waited for, and nothing is lost', async () => {
  const world = newWorld();
  append(world, 0, 'a');
  const run = new SourceRun(world);
  await run.start();
  await run.read(1);
  world.broker.isDown = true;
  await run.read();
  append(world, 0, 'b');
  world.broker.isDown = false;
  assert.deepEqual(await run.read(2), ['a', 'b']);
  await run.close();
});

test('a broker that stays away is a failure that a restart may cure', async () => {
  const world = newWorld();
  const run = new SourceRun(world, { retryForMs: 2000 });
  await run.start();
  await run.read();
  world.broker.isDown = true;
  world.clock.advance(2000);
  await assert.rejects(
    async () => {
      for (;;) {
        world.clock.advance(1000);
        await run.read();
      }
    },
    (error) =>
      isWeirError(error) && error.kind === 'transient' && error.code === 'SOURCE_UNAVAILABLE',
  );
  await run.close();
});

test('the lag counters show what is unread, and nothing once all is read', async () => {
  const world = newWorld();
  append(world, 0, 'a', 'b', 'c');
  const run = new SourceRun(world);
  await run.start();
  await run.read();
  append(world, 0, 'd');
  await run.read();
  await run.read();
  assert.deepEqual(run.values, ['a', 'b', 'c', 'd']);
  assert.equal(run.counter('recordsLag'), 0);
  await run.close();
});
