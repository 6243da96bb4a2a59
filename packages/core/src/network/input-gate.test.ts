import assert from 'node:assert/strict';
import { test } from 'node:test';
import { channel, describe, execution, labelOf, marker, trigger } from './fixtures.ts';
import type { CreditMessage, Frame, FrameMessage, SubscribeMessage } from './frame.ts';
import { isNumbered } from './frame.ts';
import { InputGate } from './input-gate.ts';

/** A gate with scripted producers, which number as real ones do. */
class World {
  readonly gate: InputGate;
  readonly upstream: (SubscribeMessage | CreditMessage)[] = [];
  readonly #next: number[] = [];
  available = 0;

  constructor(channelCount: number, window = 4) {
    const consumer = execution('b');
    this.gate = new InputGate({
      execution: consumer,
      inputs: Array.from({ length: channelCount }, (_, id) => ({
        channel: channel(id, { producer: execution('a', id), consumer }),
        inputIndex: 0,
      })),
      onAvailable: () => this.available++,
      window,
    });
    this.gate.attach((_, message) => this.upstream.push(message));
  }

  start(): this {
    this.gate.subscribeAll(0);
    this.upstream.length = 0;
    return this;
  }

  message(channelId: number, frame: Frame, parts: Partial<FrameMessage> = {}): FrameMessage {
    const position = this.#next[channelId] ?? 0;
    const { attempt } = execution('b');
    const connection = { consumerAttempt: attempt, subscribe: 0 };
    return { type: 'frame', channelId, connection, position, frame, ...parts };
  }

  arrive(channelId: number, frame: Frame): void {
    assert.ok(this.gate.receive(this.message(channelId, frame)));
    if (isNumbered(frame)) this.#next[channelId] = (this.#next[channelId] ?? 0) + 1;
  }

  /** Polls until nothing comes. */
  drain(): string[] {
    const seen: string[] = [];
    for (let next = this.gate.poll(); next !== null; next = this.gate.poll())
      seen.push(`${next.channel.channelId}:${labelOf(next.frame)}`);
    return seen;
  }
}

const record = (value: unknown): Frame => ({
  kind: 'records',
  batch: { values: [value], timestamps: null },
});
const barrier = (id: number): Frame => ({
  kind: 'barrier',
  trigger: trigger(id),
  unaligned: false,
});
const END: Frame = { kind: 'endOfPartition' };

test('channels take turns, so that a busy one does not starve another', () => {
  const world = new World(2).start();
  for (const value of ['a', 'b', 'c']) world.arrive(0, record(value));
  world.arrive(1, record('x'));
  assert.deepEqual(world.drain(), ['0:[a]', '1:[x]', '0:[b]', '0:[c]']);
});

test('a barrier comes out in its place; a blocked channel keeps what follows', () => {
  const world = new World(2).start();
  const [first] = world.gate.channels;
  world.arrive(0, record('a'));
  world.arrive(0, barrier(1));
  world.arrive(0, record('b'));
  assert.equal(labelOf(world.gate.poll()!.frame), '[a]');
  assert.equal(labelOf(world.gate.poll()!.frame), 'barrier1');
  world.gate.block(first!);
  world.arrive(1, record('x'));
  assert.deepEqual(world.drain(), ['1:[x]']);
  assert.equal(world.gate.isAvailable, false);
  world.gate.unblockAll();
  assert.deepEqual(world.drain(), ['0:[b]']);
});

test('a marker is blocked with the records of its channel, and is not counted with them', () => {
  const world = new World(1).start();
  const [only] = world.gate.channels;
  world.arrive(0, barrier(1));
  world.arrive(0, record('a'));
  world.arrive(0, { kind: 'latency', marker: marker(5) });
  assert.equal(labelOf(world.gate.poll()!.frame), 'barrier1');
  world.gate.block(only!);
  assert.equal(world.gate.poll(), null);
  world.gate.unblockAll();
  assert.deepEqual(world.drain(), ['0:[a]', '0:mark5']);
  assert.equal(only!.k, 1);
});

test('the task hears of the first frame that can be polled, also through an unblock', () => {
  const world = new World(1).start();
  world.arrive(0, record('a'));
  world.arrive(0, record('b'));
  assert.equal(world.available, 1);
  world.gate.block(world.gate.channels[0]!);
  world.arrive(0, record('c'));
  assert.equal(world.available, 1);
  world.gate.unblock(world.gate.channels[0]!);
  assert.equal(world.available, 2);
});

test('a frame is part of the state once it is consumed, at the latest by the next poll', () => {
  const world = new World(1).start();
  const [only] = world.gate.channels;
  world.arrive(0, record('a'));
  world.arrive(0, record('b'));
  world.gate.poll();
  assert.equal(only!.k, 0);
  assert.throws(() => world.gate.positions(1), /middle of a frame/);
  world.gate.poll();
  assert.equal(only!.k, 1);
  world.gate.consumed();
  assert.equal(only!.k, 2);
  assert.equal(only!.received, 2);
});

test('credit goes back in halves of the window and never beyond it', () => {
  const world = new World(1);
  world.gate.subscribeAll(0);
  const credits = (): number[] => world.upstream.splice(0).map(({ credit }) => credit);
  assert.deepEqual(credits(), [4]);
  for (const value of ['a', 'b', 'c', 'd']) world.arrive(0, record(value));
  const given = [1, 2, 3, 4].map(() => {
    world.gate.poll();
    world.gate.consumed();
    return credits();
  });
  assert.deepEqual(given, [[], [2], [], [2]]);
});

test('alignment buffers at most the capacity of the blocked channel [R046]', () => {
  const world = new World(2).start();
  world.arrive(0, barrier(1));
  world.gate.poll();
  world.gate.block(world.gate.channels[0]!);
  for (let i = 0; i < 4; i++) world.arrive(0, record(i));
  assert.equal(world.gate.channels[0]!.queued, 4);
  assert.throws(() => world.arrive(0, record(4)), /more than it was allowed/);
  assert.deepEqual(world.upstream, [], 'a blocked channel gives no credit');
  world.arrive(0, barrier(2));
});

test('frames of another connection are dropped', () => {
  const world = new World(1).start();
  const { connection } = world.message(0, record('x'));
  const foreign = [
    { ...connection, subscribe: 1 },
    { ...connection, consumerAttempt: { epoch: 1, counter: 0 } },
    { ...connection, consumerAttempt: { epoch: 2, counter: 1 } },
  ];
  for (const other of foreign)
    assert.equal(world.gate.receive(world.message(0, record('x'), { connection: other })), false);
  assert.equal(world.gate.receive(world.message(5, record('x'))), false);
  assert.deepEqual(world.drain(), []);
});

test('a gap, a repeat and a barrier out of place are faults', () => {
  const world = new World(1).start();
  world.arrive(0, record('a'));
  for (const position of [0, 2])
    for (const frame of [record('b'), barrier(1)])
      assert.throws(
        () => world.gate.receive(world.message(0, frame, { position })),
        /not where it says/,
        describe({ position, frame }),
      );
});

test('a channel that was restored asks for and counts from its mark', () => {
  const world = new World(2);
  world.gate.restore([{ channelId: 1, mark: 6 }]);
  world.gate.subscribeAll(9);
  const asked = world.upstream.map((it) => it.type === 'subscribe' && [it.from, it.ignoreUpTo]);
  assert.deepEqual(asked, [
    [0, 9],
    [6, 9],
  ]);
  assert.ok(world.gate.receive(world.message(1, record('a'), { position: 6 })));
  world.drain();
  assert.equal(world.gate.channels[1]!.k, 7);
});

test('a second subscribe asks from the next frame and only for what there is room for', () => {
  const world = new World(1).start();
  world.arrive(0, record('a'));
  world.arrive(0, record('b'));
  world.gate.subscribe(world.gate.channels[0]!, 3);
  assert.deepEqual(world.upstream, [
    {
      type: 'subscribe',
      channelId: 0,
      producerAttempt: execution('a').attempt,
      connection: { consumerAttempt: execution('b').attempt, subscribe: 1 },
      from: 2,
      ignoreUpTo: 3,
      credit: 2,
    },
  ]);
  assert.equal(world.gate.receive(world.message(0, record('c'))), false, 'of the old connection');
});

test('positions are those of the barrier; a channel without one is cut where it stands', () => {
  const world = new World(2).start();
  world.arrive(0, record('a'));
  world.arrive(0, barrier(1));
  world.arrive(1, END);
  world.drain();
  assert.deepEqual(world.gate.positions(1), [
    { channelId: 0, k: 1, mark: 1 },
    { channelId: 1, k: 0, mark: 0 },
  ]);
});

test('a task that does not block is cut at the barrier, though it has gone on', () => {
  const world = new World(2).start();
  world.arrive(0, barrier(1));
  world.arrive(0, record('a'));
  world.arrive(1, barrier(1));
  world.drain();
  assert.deepEqual(world.gate.positions(1)[0], { channelId: 0, k: 0, mark: 0 });
  assert.deepEqual(world.gate.positions(2)[0], { channelId: 0, k: 1, mark: 1 });
});

test('a gate is finished when every channel has brought its end', () => {
  const world = new World(2).start();
  world.arrive(0, END);
  world.arrive(1, record('x'));
  world.drain();
  assert.deepEqual(
    world.gate.channels.map((it) => it.isClosed),
    [true, false],
  );
  assert.equal(world.gate.isFinished, false);
  world.arrive(1, END);
  assert.equal(world.gate.isFinished, false, 'the end has not been taken');
  world.drain();
  assert.ok(world.gate.isFinished);
});
