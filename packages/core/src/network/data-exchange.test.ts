import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChannelDescriptor } from '../protocol/messages.ts';
import { DataExchange } from './data-exchange.ts';
import {
  QueueLink,
  channel,
  connection,
  execution,
  labelOf,
  subscribe,
  trigger,
} from './fixtures.ts';
import { CHANNEL_WINDOW, InputGate } from './input-gate.ts';
import { ResultPartition } from './result-partition.ts';

interface Activity {
  count: number;
  unavailable: number;
}

/** Slot n runs in thread n; every two threads are linked. */
function createThreads(count: number): {
  threads: DataExchange[];
  links: Map<string, QueueLink>;
  activity: Activity;
} {
  const activity = { count: 0, unavailable: 0 };
  const threads = Array.from(
    { length: count },
    (_, threadId) =>
      new DataExchange({
        threadId,
        threadOfSlot: (slot) => slot,
        onActivity: () => activity.count++,
        onUnavailable: () => activity.unavailable++,
      }),
  );
  const links = new Map<string, QueueLink>();
  for (let a = 0; a < count; a++)
    for (let b = a + 1; b < count; b++) {
      const [there, back] = QueueLink.pair();
      threads[a]!.addLink(b, there);
      threads[b]!.addLink(a, back);
      links.set(`${a}-${b}`, there).set(`${b}-${a}`, back);
    }
  return { threads, links, activity };
}

function partitionOf(channels: readonly ChannelDescriptor[]): ResultPartition {
  return new ResultPartition({
    execution: channels[0]!.producer,
    channels,
    operatorName: 'map',
    onError: (error) => assert.fail(error),
  });
}

function gateOf(descriptor: ChannelDescriptor): InputGate {
  return new InputGate({
    execution: descriptor.consumer,
    inputs: [{ channel: descriptor, inputIndex: 0 }],
  });
}

function drain(gate: InputGate): string[] {
  const seen: string[] = [];
  for (let next = gate.poll(); next !== null; next = gate.poll()) seen.push(labelOf(next.frame));
  return seen;
}

function pumpAll(threads: readonly DataExchange[]): void {
  while (threads.map((thread) => thread.pump()).some(Boolean));
}

test('in one thread a batch arrives by reference, without a pump', () => {
  const { threads, activity } = createThreads(1);
  const partition = partitionOf([channel(0)]);
  const gate = gateOf(channel(0));
  threads[0]!.registerPartition(partition);
  threads[0]!.registerGate(gate);
  gate.subscribeAll(0);
  const value = { name: 'x' };
  partition.emit(0, value, 5);
  const before = activity.count;
  partition.flush();
  assert.ok(activity.count > before);
  const frame = gate.poll()?.frame;
  assert.ok(frame?.kind === 'records' && frame.batch.values[0] === value);
});

test('between threads frames, barriers, subscribes and credit go through the link', () => {
  const { threads } = createThreads(2);
  const descriptor = channel(0, { consumerSlot: 1 });
  const partition = partitionOf([descriptor]);
  const gate = gateOf(descriptor);
  threads[0]!.registerPartition(partition);
  threads[1]!.registerGate(gate);
  gate.subscribeAll(0);
  const seen: string[] = [];
  for (let i = 0; i < 20; i++) {
    partition.emit(0, i, 5);
    partition.broadcastBarrier(trigger(i + 1));
    pumpAll(threads);
    seen.push(...drain(gate));
    pumpAll(threads);
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 20 }, (_, i) => [`[${i}]`, `barrier${i + 1}`]).flat(),
  );
  assert.ok(partition.allSent);
});

test('credit is work for a thread only when something had to wait for it', () => {
  const { threads, activity } = createThreads(2);
  const partition = partitionOf([channel(0, { consumerSlot: 1 })]);
  threads[0]!.registerPartition(partition);
  threads[0]!.receive(subscribe({ credit: 1 }), 1);
  const credit = { type: 'credit', channelId: 0, connection: connection(), credit: 1 } as const;
  let before = activity.count;
  threads[0]!.receive(credit, 1);
  assert.equal(activity.count, before);
  for (const value of ['x', 'y', 'z']) {
    partition.emit(0, value, 1);
    partition.flush();
  }
  assert.equal(partition.unsentFrames, 1);
  before = activity.count;
  threads[0]!.receive(credit, 1);
  assert.ok(activity.count > before);
  assert.ok(partition.allSent);
});

test('a subscribe that is early waits for its producer; an outdated one is dropped', () => {
  const { threads } = createThreads(1);
  const [thread] = threads;
  const newer = { consumer: execution('b', 0, 2), producer: execution('a', 0, 2) };
  const gate = gateOf(channel(0, newer));
  thread!.registerGate(gate);
  gate.subscribeAll(0);
  const old = partitionOf([channel(0)]);
  thread!.registerPartition(old);
  old.emit(0, 'old', 1);
  old.flush();
  assert.deepEqual(drain(gate), []);
  const partition = partitionOf([channel(0, newer)]);
  thread!.registerPartition(partition);
  thread!.receive(subscribe({ connection: connection(9, 9) }), 0);
  partition.emit(0, 'new', 1);
  partition.flush();
  assert.deepEqual(drain(gate), ['[new]']);
});

test('of early subscribes the newest wins, whatever the order of arrival', () => {
  const { threads } = createThreads(1);
  const [thread] = threads;
  const descriptor = channel(0, { consumer: execution('b', 0, 2) });
  const gate = gateOf(descriptor);
  thread!.registerGate(gate);
  gate.subscribeAll(0);
  thread!.receive(subscribe({ connection: connection(0, 1), from: 0 }), 0);
  const partition = partitionOf([descriptor]);
  thread!.registerPartition(partition);
  partition.emit(0, 'x', 1);
  partition.flush();
  assert.deepEqual(drain(gate), ['[x]']);
});

test('an outdated producer or consumer that is deployed late changes nothing', () => {
  const { threads } = createThreads(1);
  const [thread] = threads;
  const present = channel(0, { producer: execution('a', 0, 5), consumer: execution('b', 0, 6) });
  const partition = partitionOf([present]);
  const gate = gateOf(present);
  thread!.registerPartition(partition);
  thread!.registerGate(gate);
  gate.subscribeAll(0);
  const zombie = gateOf(channel(0));
  thread!.registerPartition(partitionOf([channel(0)]));
  thread!.registerGate(zombie);
  zombie.subscribeAll(0);
  for (let i = 0; i < 3 * CHANNEL_WINDOW; i++) {
    partition.emit(0, i, 1);
    partition.flush();
    assert.deepEqual(drain(gate), [`[${i}]`], 'credit still finds its producer');
  }
  assert.deepEqual(drain(zombie), []);
});

test('frames for an execution that is gone are dropped, others of its vertex go on', () => {
  const { threads } = createThreads(1);
  const [thread] = threads;
  const descriptors = [0, 1].map((id) => channel(id, { producer: execution('a', id) }));
  const partitions = descriptors.map((descriptor) => partitionOf([descriptor]));
  const gates = descriptors.map(gateOf);
  for (const partition of partitions) thread!.registerPartition(partition);
  for (const gate of gates) {
    thread!.registerGate(gate);
    gate.subscribeAll(0);
  }
  thread!.unregister(gates[0]!.execution);
  thread!.unregister(partitions[0]!.execution);
  for (let i = 0; i < 3 * CHANNEL_WINDOW; i++) {
    for (const partition of partitions) {
      partition.emit(0, i, 1);
      partition.flush();
    }
    assert.deepEqual(gates.map(drain), [[], [`[${i}]`]]);
  }
});

test('the end of an attempt does not touch its successor in the same thread', () => {
  const { threads } = createThreads(1);
  const [thread] = threads;
  const next = channel(0, { producer: execution('a', 0, 2), consumer: execution('b', 0, 2) });
  const gate = gateOf(next);
  const partition = partitionOf([next]);
  thread!.registerPartition(partitionOf([channel(0)]));
  thread!.registerGate(gateOf(channel(0)));
  thread!.registerGate(gate);
  thread!.registerPartition(partition);
  gate.subscribeAll(0);
  thread!.unregister(execution('a'));
  thread!.unregister(execution('b'));
  for (let i = 0; i < 3 * CHANNEL_WINDOW; i++) {
    partition.emit(0, i, 1);
    partition.flush();
    assert.deepEqual(drain(gate), [`[${i}]`]);
  }
});

test('a subscribe for frames that are gone is reported, once the producer knows', () => {
  const { threads, activity } = createThreads(1);
  const [thread] = threads;
  const partition = partitionOf([channel(0)]);
  partition.restore([{ channelId: 0, mark: 4 }]);
  thread!.registerPartition(partition);
  thread!.receive(subscribe({ from: 3 }), 0);
  assert.equal(activity.unavailable, 1);
});

test('a link without room holds frames back, and pump sends them when there is room', () => {
  const { threads, links } = createThreads(2);
  const descriptors = [0, 1].map((id) => channel(id, { consumerSlot: 1 }));
  const partition = partitionOf(descriptors);
  threads[0]!.registerPartition(partition);
  const gates = descriptors.map(gateOf);
  for (const gate of gates) {
    threads[1]!.registerGate(gate);
    gate.subscribeAll(0);
  }
  threads[0]!.pump();
  links.get('0-1')!.capacity = 1;
  partition.emitToAll('x', 1);
  partition.flush();
  assert.equal(partition.unsentFrames, 1);
  partition.broadcastBarrier(trigger(1));
  assert.equal(partition.allSent, false);
  assert.equal(threads[0]!.pump(), false, 'there is still no room');
  pumpAll(threads);
  assert.ok(partition.allSent);
  assert.deepEqual(gates.map(drain), [
    ['[x]', 'barrier1'],
    ['[x]', 'barrier1'],
  ]);
});

test('frames that waited for room in the link of a thread that died do not wait for ever', () => {
  const { threads, links } = createThreads(2);
  const partition = partitionOf([channel(0, { consumerSlot: 1 })]);
  threads[0]!.registerPartition(partition);
  threads[0]!.receive(subscribe(), 1);
  links.get('0-1')!.capacity = 0;
  partition.emit(0, 'x', 1);
  partition.flush();
  assert.equal(partition.allSent, false);
  threads[0]!.removeLink(1);
  assert.ok(partition.allSent);
});

test('what is meant for a dead thread is dropped; a thread never known is a fault', () => {
  const { threads } = createThreads(2);
  const descriptor = channel(0, { consumerSlot: 1 });
  const partition = partitionOf([descriptor]);
  threads[0]!.registerPartition(partition);
  threads[0]!.receive(subscribe(), 1);
  threads[0]!.removeLink(1);
  partition.emit(0, 'x', 1);
  partition.flush();
  assert.ok(partition.allSent);
  threads[0]!.receive(subscribe({ connection: connection(1), from: 1 }), 7);
  partition.emit(0, 'y', 1);
  assert.throws(() => partition.flush(), /no link to thread 7/);
});

test('with consumers at different speeds nothing is lost, repeated or reordered', () => {
  const { threads } = createThreads(3);
  const descriptors = [0, 1, 2].map((id) => channel(id, { consumerSlot: id }));
  const partition = partitionOf(descriptors);
  threads[0]!.registerPartition(partition);
  const gates = descriptors.map(gateOf);
  gates.forEach((gate, id) => {
    threads[id]!.registerGate(gate);
    gate.subscribeAll(0);
  });
  const seen: unknown[][] = [[], [], []];
  let produced = 0;
  for (let round = 0; round < 300; round++) {
    pumpAll(threads);
    if (partition.isAvailable && produced < 90) {
      partition.emit(produced % 3, produced, 1);
      produced++;
      partition.flush();
    }
    gates.forEach((gate, id) => {
      if (round % (id + 1) !== 0) return;
      const frame = gate.poll()?.frame;
      if (frame?.kind === 'records') seen[id]!.push(...frame.batch.values);
    });
  }
  const expected = [0, 1, 2].map((id) => Array.from({ length: 30 }, (_, i) => i * 3 + id));
  assert.deepEqual(seen, expected);
});
