/**
 * The sink under random schedules: checkpoints that complete, are aborted, or complete and crash
 * before, during or after their commit; answers that get lost; restores. Whatever happens, a reader
 * at read_committed sees exactly what completed checkpoints hold, once, and nothing stays open.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { KafkaCommittable } from '../sink/committable.ts';
import {
  barrier,
  committerOf,
  ModelProcess,
  newWorld,
  openIds,
  openWriter,
  recoveryOf,
  sinkOf,
  visible,
  write,
} from './sink-fixture.ts';
import type { KafkaCommitter, KafkaWriter, World } from './sink-fixture.ts';

type Step = 'write' | 'commit' | 'abort' | 'crash-before-commit' | 'crash-after-commit' | 'crash';

const step = fc.constantFrom<Step>(
  'write',
  'write',
  'commit',
  'commit',
  'abort',
  'crash-before-commit',
  'crash-after-commit',
  'crash',
);
/** Every n-th request of these loses its answer. */
const lossy = fc.record(
  {
    request: fc.constantFrom('Produce', 'EndTxn', 'AddPartitionsToTxn', 'InitProducerId'),
    every: fc.integer({ min: 2, max: 5 }),
  },
  { noNullPrototype: true },
);

class Engine {
  readonly world: World;
  #process: ModelProcess;
  #sink: ReturnType<typeof sinkOf>;
  #writer: KafkaWriter | null = null;
  #committer: KafkaCommitter | null = null;
  #attempt = 0;
  #checkpoint = 0;
  #value = 0;
  /** Of the interval that is open. */
  #written: string[] = [];
  /** Committables not yet committed, and the values they stand for. */
  #pending: KafkaCommittable[] = [];
  #pendingValues: string[] = [];
  /** What the newest completed checkpoint lists. */
  #snapshot: readonly KafkaCommittable[] = [];
  readonly completed: string[] = [];

  constructor(world: World) {
    this.world = world;
    this.#process = new ModelProcess(world);
    this.#sink = this.#newSink();
  }

  async start(): Promise<void> {
    const attempt = { epoch: 1, counter: ++this.#attempt };
    const recovering = committerOf(this.world, this.#sink);
    await recovering.recover(recoveryOf(this.#snapshot, attempt));
    await recovering.close();
    this.#snapshot = [];
    this.#pending = [];
    this.#pendingValues = [];
    this.#written = [];
    this.#writer = await openWriter(this.world, this.#sink, { attempt });
    this.#committer = committerOf(this.world, this.#sink);
  }

  async run(what: Step): Promise<void> {
    if (what === 'write') return this.#write();
    if (what === 'crash') return this.#crash();
    const durable = barrier(this.#opened(), ++this.#checkpoint);
    this.#pendingValues.push(...this.#written);
    this.#written = [];
    // As the engine does: the next transaction is written to while this one is still on its way.
    await this.#write();
    this.#pending.push(...(await durable));
    // An aborted checkpoint's transaction stays pending.
    if (what === 'abort') return;
    this.completed.push(...this.#pendingValues);
    this.#pendingValues = [];
    this.#snapshot = [...this.#pending];
    if (what === 'crash-before-commit') return this.#crash();
    await this.#committer?.commit(this.#pending);
    this.#pending = [];
    if (what === 'crash-after-commit') return this.#crash();
  }

  async finish(): Promise<void> {
    await this.run('commit');
    await this.#writer?.close();
    await this.#committer?.close();
  }

  async #write(): Promise<void> {
    const value = `v${this.#value++}`;
    this.#written.push(value);
    await write(this.#opened(), value);
  }

  /** The process is gone: nothing is closed. */
  #crash(): Promise<void> {
    this.#process.isDead = true;
    this.#process = new ModelProcess(this.world);
    this.#sink = this.#newSink();
    return this.start();
  }

  #newSink(): ReturnType<typeof sinkOf> {
    return sinkOf(this.world, { reuseAfterCommits: 2 }, this.#process.connect);
  }

  #opened(): KafkaWriter {
    assert.ok(this.#writer);
    return this.#writer;
  }
}

test('under any schedule of crashes and lost answers the output is exact', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 25 }),
      fc.array(lossy, { maxLength: 3 }),
      async (steps, losses) => {
        const world = newWorld();
        const counts = new Map<string, number>();
        world.broker.fault = (name) => {
          const count = (counts.get(name) ?? 0) + 1;
          counts.set(name, count);
          const isLost = losses.some((it) => it.request === name && count % it.every === 0);
          return isLost ? 'lose-answer' : 'none';
        };
        const engine = new Engine(world);
        await engine.start();
        for (const one of steps) await engine.run(one);
        await engine.finish();
        assert.deepEqual(visible(world), engine.completed);
        assert.deepEqual(openIds(world), []);
      },
    ),
    {
      numRuns: 120,
      // Three transactions of one checkpoint, whose ids the next ones may not take.
      examples: [[['write', 'abort', 'abort', 'commit', 'abort', 'crash', 'write'], []]],
    },
  );
});
