import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { LearningBatchCodec } from './codec/learning-batch-codec.ts';
import { connection, describe, subscribe, trigger } from './fixtures.ts';
import type { EchoThread } from './fixtures.ts';
import { FrameCodec } from './frame-codec.ts';
import type { Frame, WireMessage } from './frame.ts';
import { RingLink } from './ring-link.ts';
import { createRingBuffer } from './shared-ring.ts';
import { ThreadSignal, createSignalBuffer } from './thread-signal.ts';

/** Two ends; `wakes` tells whether an action of `end` would wake the other end out of a sleep. */
function createPair(capacityBytes: number): {
  a: RingLink;
  b: RingLink;
  wakes: (end: 'a' | 'b', action: () => void) => boolean;
} {
  const [there, back] = [createRingBuffer(capacityBytes), createRingBuffer(capacityBytes)];
  const codec = new FrameCodec(new LearningBatchCodec());
  const [ofA, ofB] = [createSignalBuffer(), createSignalBuffer()];
  const wakes = (end: 'a' | 'b', action: () => void): boolean => {
    const word = new Int32Array(end === 'a' ? ofB : ofA);
    word[0] = 1;
    action();
    return word[0] === 0;
  };
  return {
    a: new RingLink({ outgoing: there, incoming: back, peer: new ThreadSignal(ofB), codec }),
    b: new RingLink({ outgoing: back, incoming: there, peer: new ThreadSignal(ofA), codec }),
    wakes,
  };
}

function message(position: number, frame: Frame): WireMessage {
  return { type: 'frame', channelId: 0, connection: connection(), position, frame };
}

function records(...values: readonly unknown[]): Frame {
  return { kind: 'records', batch: { values, timestamps: null } };
}

function received(link: RingLink): string[] {
  const messages: string[] = [];
  link.poll((it) => messages.push(it.type === 'frame' ? describe(it) : it.type));
  return messages;
}

test('a congested ring refuses records but takes barriers and credit, in order', () => {
  const { a, b } = createPair(256);
  assert.ok(a.send(message(0, records('x'.repeat(500)))));
  assert.equal(a.send(message(1, records('y'))), false);
  const barrier: Frame = { kind: 'barrier', trigger: trigger(1), unaligned: false };
  assert.ok(a.send(message(1, barrier)));
  assert.ok(a.send({ type: 'credit', channelId: 1, connection: connection(), credit: 1 }));
  assert.ok(a.send(subscribe()));
  assert.equal(a.send(message(1, records('y'))), false);
  const seen: string[] = [];
  for (let i = 0; i < 10; i++) {
    seen.push(...received(b));
    a.poll(() => undefined);
  }
  assert.deepEqual(seen, [`[${'x'.repeat(500)}]@0`, 'barrier1@1', 'credit', 'subscribe']);
  assert.ok(a.send(message(1, records('y'))));
  assert.deepEqual(received(b), ['[y]@1']);
});

test('a record that cannot be encoded leaves the ring as it was', () => {
  const { a, b } = createPair(1024);
  assert.throws(
    () =>
      a.send(
        message(
          0,
          records(() => undefined),
        ),
      ),
    {
      code: 'SERIALIZATION_FAILED',
    },
  );
  assert.ok(a.send(message(0, records('x'))));
  assert.deepEqual(received(b), ['[x]@0']);
});

test('poll says whether anything moved, in either direction', () => {
  const { a, b } = createPair(128);
  assert.equal(
    a.poll(() => undefined),
    false,
  );
  a.send(message(0, records('x'.repeat(200))));
  assert.equal(
    a.poll(() => undefined),
    false,
    'no room yet',
  );
  assert.deepEqual(received(b), []);
  assert.equal(
    a.poll(() => undefined),
    true,
    'flushed',
  );
});

test('the peer is woken when there is something to read, and when there is room again', () => {
  const { a, b, wakes } = createPair(128);
  assert.ok(wakes('a', () => a.send(message(0, records('x'.repeat(200))))));
  assert.equal(
    wakes('a', () => a.poll(() => undefined)),
    false,
    'nothing moved',
  );
  assert.ok(
    wakes('b', () => received(b)),
    'room for the rest',
  );
  assert.ok(
    wakes('a', () => a.poll(() => undefined)),
    'the rest',
  );
});

/** Messages go to a thread and come back, through rings smaller than some of the messages. */
async function echo(sent: readonly WireMessage[]): Promise<readonly WireMessage[]> {
  const shared: EchoThread = {
    module: import.meta.resolve('./fixtures.ts'),
    outgoing: createRingBuffer(4096),
    incoming: createRingBuffer(4096),
    ownSignal: createSignalBuffer(),
    peerSignal: createSignalBuffer(),
  };
  // The listener keeps the thread alive: a pending sleep alone does not.
  const start = `const { parentPort, workerData } = require('node:worker_threads');
    parentPort.on('message', () => undefined);
    import(workerData.module).then(({ runEcho }) => runEcho(workerData));`;
  const worker = new Worker(start, { eval: true, workerData: shared });
  const own = new ThreadSignal(shared.peerSignal);
  const link = new RingLink({
    outgoing: shared.incoming,
    incoming: shared.outgoing,
    peer: new ThreadSignal(shared.ownSignal),
    codec: new FrameCodec(new LearningBatchCodec()),
  });
  const echoed: WireMessage[] = [];
  let next = 0;
  const step = (): boolean => {
    let moved = link.poll((it) => echoed.push(it));
    while (next < sent.length && link.send(sent[next]!)) {
      next++;
      moved = true;
    }
    return moved;
  };
  while (echoed.length < sent.length) if (!step()) await own.sleep(step);
  await worker.terminate();
  return echoed;
}

test('two threads exchange messages and wake each other', { timeout: 10_000 }, async () => {
  const sent = Array.from({ length: 200 }, (_, i) =>
    message(i, records({ id: i, text: 'x'.repeat((i * 997) % 9000) })),
  );
  assert.deepEqual(await echo(sent), sent);
});

class Reading {
  readonly celsius: number;
  constructor(celsius: number) {
    this.celsius = celsius;
  }
}

/** A record of its own for each kind of value that is to cross. */
function recordsOfAllKinds(i: number): readonly unknown[] {
  const wide = Object.fromEntries(Array.from({ length: 60 }, (_, f) => [`field${f}`, i * f]));
  let deep: unknown = i;
  for (let depth = 0; depth < 200; depth++) deep = { depth, deep };
  const holes = [i];
  holes[5] = i;
  return [
    wide,
    { deep },
    { nan: Number.NaN, zero: -0, missing: undefined, none: null, infinite: -Infinity },
    { holes, list: [undefined, null, [i]] },
    { map: new Map([[{ i }, new Set([1n, -0])]]), big: 2n ** 80n + BigInt(i) },
    { at: new Date(i), never: new Date(Number.NaN), old: new Date(-1e14) },
    {
      bytes: Uint8Array.of(i),
      floats: Float64Array.of(-0, Number.NaN),
      view: new DataView(new ArrayBuffer(2)),
    },
    { reading: new Reading(i) },
    { text: `\ud800 ${i}`, wide: '日本語', error: new RangeError('far') },
  ];
}

test('whatever structured clone keeps crosses between threads', { timeout: 10_000 }, async () => {
  const kinds = recordsOfAllKinds(0).length;
  const batches = Array.from({ length: kinds }, (_, kind) =>
    Array.from({ length: 20 }, (_record, i) => recordsOfAllKinds(i)[kind]),
  );
  const mixed = Array.from({ length: 3 }, (_, i) => recordsOfAllKinds(i)).flat();
  const large = Array.from({ length: 5 }, (_, i) => ({ i, text: `${i}`.repeat(1 << 20) }));
  const all = [...batches, mixed, large, ...batches];
  const echoed = await echo(all.map((values, i) => message(i, records(...values))));
  for (const [i, values] of all.entries()) {
    const back = echoed[i];
    assert.ok(back?.type === 'frame' && back.frame.kind === 'records');
    assert.deepEqual(back.frame.batch.values, structuredClone(values));
  }
});
