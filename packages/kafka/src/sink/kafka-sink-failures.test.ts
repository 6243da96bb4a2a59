/** The failures that Kafka sinks of others had, each as a test against the model of a broker. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWeirError } from '@weir/core';
import {
  barrier,
  committerOf,
  newWorld,
  openIds,
  openWriter,
  recoveryOf,
  sinkOf,
  visible,
  write,
} from '../model/sink-fixture.ts';
import type { KafkaCommittable } from './committable.ts';
import { parseTransactionalId } from './transaction-id.ts';

/** Rejects with an error that no restart cures and whose message matches. */
function endsJob(message: RegExp) {
  return (error: unknown): boolean =>
    isWeirError(error) && error.kind === 'user' && message.test(error.message);
}

test('committing an old checkpoint never commits a newer transaction (failure 1)', async () => {
  const world = newWorld();
  const sink = sinkOf(world);
  const writer = await openWriter(world, sink);
  await write(writer, 'old');
  const old = await barrier(writer, 1);
  await write(writer, 'new');
  await barrier(writer, 2);
  const committer = committerOf(world, sink);
  await committer.commit(old);
  await committer.commit(old);
  assert.deepEqual(visible(world), ['old']);
  assert.equal(openIds(world).length, 1);
});

test('a snapshot restored twice proves what it committed the first time (failure 2)', async () => {
  const world = newWorld();
  const sink = sinkOf(world);
  const writer = await openWriter(world, sink);
  await write(writer, 'a', 'b');
  const committables = await barrier(writer, 1);
  await committerOf(world, sink).recover(recoveryOf(committables));
  await committerOf(world, sink).recover(recoveryOf(committables, { epoch: 3, counter: 0 }));
  assert.deepEqual(visible(world), ['a', 'b']);
});

test('a recycled id with a newer open transaction is told as superseded (failure 3)', async () => {
  const world = newWorld();
  const sink = sinkOf(world);
  const writer = await openWriter(world, sink);
  await write(writer, 'a');
  const [committable] = await barrier(writer, 1);
  assert.ok(committable);
  const { coordinator } = world.broker;
  const { transactionalId } = committable;
  await committerOf(world, sink).commit([committable]);
  const newer = coordinator.init(transactionalId, 60_000);
  coordinator.addPartition({ transactionalId, ...newer }, 'out/0', world.broker.log('out', 0));
  await assert.rejects(
    committerOf(world, sink).recover(recoveryOf([committable])),
    endsJob(/has been used again since, so the outcome cannot be proven.*may be lost/),
  );
  const tolerant = sinkOf(world, { onUnresolvedCommit: 'warn' });
  await committerOf(world, tolerant).recover(recoveryOf([committable]));
  assert.deepEqual(openIds(world), [], 'the newer transaction of the dead attempt is aborted');
  assert.match(world.logged.join('\n'), /cannot be proven/);
});

test('a commit at the last epoch is resolved when it is repeated (failure 4) [R070]', async () => {
  const world = newWorld();
  const sink = sinkOf(world);
  const writer = await openWriter(world, sink);
  await write(writer, 'a');
  const [first] = await barrier(writer, 1);
  assert.ok(first);
  await committerOf(world, sink).commit([first]);
  world.broker.coordinator.setEpoch(first.transactionalId, 32_766);
  const atEnd = { ...first, epoch: 32_766 };
  world.broker.fault = (name) => (name === 'EndTxn' ? 'lose-answer' : 'none');
  const committing = committerOf(world, sink).commit([atEnd]);
  world.broker.fault = () => 'none';
  await committing;
  await committerOf(world, sink).recover(recoveryOf([atEnd]));
  assert.equal(atEnd.protocol, 1);
  const next = world.broker.coordinator.init(first.transactionalId, 60_000);
  assert.notEqual(next.producerId, first.producerId, 'a new producer id after the last epoch');
  assert.equal(next.epoch, 0);
});

test('an expired id ends the job once, with a clear choice (failure 5) [R065]', async () => {
  const world = newWorld();
  const sink = sinkOf(world);
  const writer = await openWriter(world, sink);
  await write(writer, 'a', 'b', 'c');
  const committables = await barrier(writer, 2);
  world.broker.coordinator.forget(committables[0]?.transactionalId ?? '');
  await assert.rejects(
    committerOf(world, sink).recover(recoveryOf(committables)),
    endsJob(
      /checkpoint 2 with 3 record\(s\) \(out\/0: 3\): the broker no longer knows .*allow-older/,
    ),
  );
  assert.equal(await committerOf(world, sink).probe(committables[0]!), 'gone');
});

test('a time-out that races the commit is data loss, never a log line (failure 6)', async () => {
  const world = newWorld();
  const sink = sinkOf(world, { transactionTimeoutMs: 60_000 });
  const writer = await openWriter(world, sink);
  await write(writer, 'a');
  const committables = await barrier(writer, 1);
  world.clock.advance(60_000);
  await assert.rejects(
    committerOf(world, sink).commit(committables),
    endsJob(/aborted by the broker's transaction time-out, or fenced. These results are lost/),
  );
  assert.deepEqual(visible(world), []);
  assert.equal(await committerOf(world, sink).probe(committables[0]!), 'gone');
});

test('a checkpoint of a transaction that has timed out meanwhile does not complete', async () => {
  const world = newWorld();
  const sink = sinkOf(world, { transactionTimeoutMs: 60_000 });
  const writer = await openWriter(world, sink);
  await write(writer, 'a');
  world.clock.advance(60_001);
  await assert.rejects(
    barrier(writer, 1),
    (error) => isWeirError(error) && error.kind === 'transient',
  );
});

test('under frequent checkpoints the broker knows few ids (failure 7)', async () => {
  const world = newWorld();
  const sink = sinkOf(world, { reuseAfterCommits: 4 });
  const writer = await openWriter(world, sink);
  const committer = committerOf(world, sink);
  for (let checkpoint = 1; checkpoint <= 500; checkpoint++) {
    await write(writer, `v${checkpoint}`);
    await committer.commit(await barrier(writer, checkpoint));
  }
  assert.equal(visible(world).length, 500);
  assert.ok(world.broker.coordinator.idCount <= 8, `${world.broker.coordinator.idCount} ids`);
});

test('ids of aborted checkpoints rest as long as the checkpoint that commits them', async () => {
  const world = newWorld();
  const sink = sinkOf(world, { reuseAfterCommits: 1 });
  const writer = await openWriter(world, sink);
  const committer = committerOf(world, sink);
  const promised: KafkaCommittable[] = [];
  for (let checkpoint = 1; checkpoint <= 5; checkpoint++) {
    await write(writer, `v${checkpoint}`);
    promised.push(...(await barrier(writer, checkpoint)));
  }
  await committer.commit(promised);
  for (let next = 6; next <= 9; next++) {
    await write(writer, `lost ${next}`);
    await barrier(writer, next);
  }
  await committerOf(world, sink).recover(recoveryOf(promised, { epoch: 1, counter: 2 }));
  assert.deepEqual(visible(world), ['v1', 'v2', 'v3', 'v4', 'v5']);
});

test('an early crash and a rescaling leave nothing open (failure 8)', async () => {
  const world = newWorld();
  const sink = sinkOf(world);
  for (const subtask of [0, 1, 2, 3]) {
    const writer = await openWriter(world, sink, { subtask });
    await write(writer, `lingering ${subtask}`);
    writer.prepareCommit({ checkpointId: 1, endOfInput: false }).durable.catch(() => undefined);
  }
  await new Promise((resolve) => world.clock.schedule(100, 'settle', () => resolve(null)));
  assert.equal(openIds(world).length, 4);
  await committerOf(world, sink).recover(recoveryOf([]));
  assert.deepEqual(openIds(world), []);
  assert.deepEqual(visible(world), []);
});

test('recovery touches neither live siblings nor newer attempts', async () => {
  const world = newWorld();
  const sink = sinkOf(world);
  for (const [subtask, counter] of [
    [0, 0],
    [1, 0],
    [0, 5],
  ] as const) {
    const writer = await openWriter(world, sink, { subtask, attempt: { epoch: 1, counter } });
    await write(writer, `${subtask}.${counter}`);
    await barrier(writer, 1);
  }
  const recovery = recoveryOf([], { epoch: 1, counter: 5 }, [0]);
  await committerOf(world, sink).recover(recovery);
  const prefix = `weir-${'a'.repeat(32)}-${'b'.repeat(32)}`;
  const left = openIds(world).map((id) => parseTransactionalId(prefix, id));
  assert.deepEqual(
    left.map((it) => [it?.subtask, it?.attempt.counter]),
    [
      [1, 0],
      [0, 5],
    ],
  );
});

test('another run with the same ids is left alone, and told of (failure 16)', async () => {
  const world = newWorld();
  const sink = sinkOf(world);
  const other = await openWriter(world, sink, { attempt: { epoch: 5, counter: 3 } });
  await write(other, 'a');
  await barrier(other, 1);
  await committerOf(world, sink).recover(recoveryOf([]));
  assert.equal(openIds(world).length, 1);
  assert.match(world.logged.join('\n'), /1 open transaction.*-0-5\.3-0.*transactionalIdPrefix/s);
  world.logged.length = 0;
  await committerOf(world, sink).recover(recoveryOf([], undefined, [1]));
  assert.deepEqual(world.logged, [], 'live siblings of a part that restarts');
});

test("a time-out above the broker's fails early, naming both (failure 9) [R067]", async () => {
  const world = newWorld(1, 900_000);
  const sink = sinkOf(world, { transactionTimeoutMs: 3_600_000 });
  await assert.rejects(
    openWriter(world, sink),
    endsJob(/transactionTimeoutMs = 3600000 is above transaction.max.timeout.ms = 900000/),
  );
});

test('an interval without records ends no transaction (failure 10) [R071]', async () => {
  const world = newWorld();
  const sink = sinkOf(world);
  const writer = await openWriter(world, sink);
  const committer = committerOf(world, sink);
  for (let checkpoint = 1; checkpoint <= 5; checkpoint++)
    await committer.commit(await barrier(writer, checkpoint));
  assert.equal(world.broker.counts.get('EndTxn') ?? 0, 0);
  assert.equal(world.broker.counts.get('AddPartitionsToTxn') ?? 0, 0);
  assert.equal(world.broker.counts.get('InitProducerId'), 1);
});

test('a failed write fails the checkpoint that counts on it (failure 11)', async () => {
  const world = newWorld();
  const sink = sinkOf(world);
  const writer = await openWriter(world, sink);
  await write(writer, 'a');
  world.broker.deleteTopic('out');
  const rejected = assert.rejects(
    barrier(writer, 1),
    (error) => isWeirError(error) && error.code === 'SINK_UNAVAILABLE',
  );
  for (let minute = 0; minute < 5; minute++) {
    world.clock.advance(60_000);
    await new Promise((resolve) => world.clock.schedule(1000, 'wait', () => resolve(null)));
  }
  await rejected;
});

test('an unexpected answer to a commit fails, it is not passed over (failure 12)', async () => {
  const world = newWorld();
  const sink = sinkOf(world);
  const writer = await openWriter(world, sink);
  await write(writer, 'a');
  const [committable] = await barrier(writer, 1);
  assert.ok(committable);
  world.broker.coordinator.end(committable, false);
  await assert.rejects(
    committerOf(world, sink).commit([committable]),
    endsJob(/somebody aborted it. These results are lost/),
  );
});

test('a lost transaction does not keep the others from committing (failure 13)', async () => {
  const world = newWorld();
  const sink = sinkOf(world);
  const writer = await openWriter(world, sink);
  await write(writer, 'lost');
  const lost = await barrier(writer, 1);
  await write(writer, 'kept');
  const kept = await barrier(writer, 1);
  world.broker.coordinator.forget(lost[0]?.transactionalId ?? '');
  await assert.rejects(committerOf(world, sink).commit([...lost, ...kept]), /no longer knows/);
  assert.deepEqual(visible(world), ['kept']);
});

test('a thousand checkpoints open no connection beyond the first few (failure 14)', async () => {
  const world = newWorld();
  let connections = 0;
  const sink = sinkOf(world, {}, (host, port) => {
    connections++;
    return world.broker.connect(host, port);
  });
  const writer = await openWriter(world, sink);
  const committer = committerOf(world, sink);
  for (let checkpoint = 1; checkpoint <= 1000; checkpoint++) {
    await write(writer, 'v');
    await committer.commit(await barrier(writer, checkpoint));
  }
  // One for control and one for writes, and the committer's own.
  assert.equal(connections, 3);
  assert.ok(world.broker.coordinator.idCount <= 20, `${world.broker.coordinator.idCount} ids`);
});

test('closing a writer leaves pre-committed transactions alone (failure 15)', async () => {
  const world = newWorld();
  const sink = sinkOf(world);
  const writer = await openWriter(world, sink);
  await write(writer, 'last');
  const committables = await barrier(writer, 1, true);
  await writer.close();
  await committerOf(world, sink).commit(committables);
  assert.deepEqual(visible(world), ['last']);
});

test('closing a writer aborts what was not pre-committed', async () => {
  const world = newWorld();
  const sink = sinkOf(world, { batchSizeBytes: 1 });
  const writer = await openWriter(world, sink);
  await write(writer, 'a');
  await new Promise((resolve) => world.clock.schedule(100, 'settle', () => resolve(null)));
  assert.equal(openIds(world).length, 1);
  await writer.close();
  assert.deepEqual(openIds(world), []);
  assert.deepEqual(visible(world), []);
});

test('sinks of other operators and jobs never share ids, whatever the prefix (failure 16)', () => {
  const one = { jobId: '1'.repeat(32), operatorId: '2'.repeat(32) };
  const prefix = `mine-${one.jobId}-${one.operatorId}`;
  const name = { subtask: 3, attempt: { epoch: 2, counter: 17 }, slot: 4 };
  assert.deepEqual(parseTransactionalId(prefix, `${prefix}-3-2.17-4`), name);
  assert.equal(
    parseTransactionalId(prefix, `mine-${'9'.repeat(32)}-${one.operatorId}-3-2.17-4`),
    null,
  );
  assert.equal(parseTransactionalId(prefix, `${prefix}-3-2.17`), null);
  assert.equal(parseTransactionalId('mine', `${prefix}-3-2.17-4`), null);
});

test('an answer that was lost is asked for again, and a batch is not written twice', async () => {
  const world = newWorld();
  const sink = sinkOf(world);
  const writer = await openWriter(world, sink);
  const lost = new Set(['Produce', 'AddPartitionsToTxn', 'EndTxn']);
  world.broker.fault = (name) => (lost.delete(name) ? 'lose-answer' : 'none');
  await write(writer, 'a', 'b');
  const committables = await barrier(writer, 1);
  await committerOf(world, sink).commit(committables);
  assert.equal(lost.size, 0);
  assert.deepEqual(visible(world), ['a', 'b']);
});

test('while markers are being written a commit is asked again until they are', async () => {
  const world = newWorld();
  const sink = sinkOf(world);
  const writer = await openWriter(world, sink);
  await write(writer, 'a');
  const committables = await barrier(writer, 1);
  world.broker.coordinator.holdsMarkers = true;
  const [committable] = committables;
  assert.ok(committable);
  assert.equal(world.broker.coordinator.end(committable, true), 0);
  const committing = committerOf(world, sink).commit(committables);
  world.clock.schedule(300, 'markers', () => world.broker.coordinator.writeMarkers());
  await committing;
  assert.deepEqual(visible(world), ['a']);
});

test('dead letters are in the transaction of the checkpoint', async () => {
  const world = newWorld();
  world.broker.createTopic('dead', 1);
  const value = {
    serialize: (it: string): Buffer => {
      if (it === 'bad') throw new Error('no schema for it');
      return Buffer.from(it);
    },
  };
  const sink = sinkOf(world, { value, deadLetter: { topic: 'dead' } });
  const writer = await openWriter(world, sink);
  await write(writer, 'good', 'bad');
  const committables = await barrier(writer, 1);
  assert.deepEqual(visible(world, 'dead'), []);
  await committerOf(world, sink).commit(committables);
  assert.deepEqual(visible(world), ['good']);
  assert.deepEqual(visible(world, 'dead'), ['"bad"']);
});
