/**
 * Random interleavings of channels that keep their order. What each channel has said so far is
 * enough to tell what the handler may do: that is the model.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TestTask } from './test-support.ts';

/** What a channel brings, in order: for each checkpoint a barrier, a marker or nothing; its end. */
interface Script {
  readonly steps: readonly { readonly id: number; readonly isCancel: boolean }[];
  readonly ends: boolean;
}

const CHECKPOINTS = 5;

const scriptArbitrary: fc.Arbitrary<Script> = fc
  .record({
    kinds: fc.array(fc.constantFrom('barrier', 'barrier', 'barrier', 'cancel', 'none'), {
      minLength: CHECKPOINTS,
      maxLength: CHECKPOINTS,
    }),
    ends: fc.boolean(),
  })
  .map(({ kinds, ends }) => ({
    steps: kinds.flatMap((kind, index) =>
      kind === 'none' ? [] : [{ id: index + 1, isCancel: kind === 'cancel' }],
    ),
    ends,
  }));

const worldArbitrary = fc.record({
  scripts: fc.array(scriptArbitrary, { minLength: 1, maxLength: 4 }),
  /** Which channel moves next; beyond the channels: the coordinator aborts that checkpoint. */
  schedule: fc.array(fc.nat({ max: 30 }), { minLength: 10, maxLength: 60 }),
});

/** Plays it, and calls `check` after each event with what the channels have said by then. */
function play(
  task: TestTask,
  {
    scripts,
    schedule,
  }: { readonly scripts: readonly Script[]; readonly schedule: readonly number[] },
  check: (said: readonly ReadonlySet<number>[], ended: ReadonlySet<number>) => void,
): void {
  const positions = scripts.map(() => 0);
  const said = scripts.map(() => new Set<number>());
  const ended = new Set<number>();
  for (const choice of schedule) {
    const channel = choice % (scripts.length + 1);
    const script = scripts[channel];
    if (script === undefined) task.aborted((choice % CHECKPOINTS) + 1);
    else if (!ended.has(channel) && !task.blocked.has(channel)) {
      const step = script.steps[positions[channel] ?? 0];
      positions[channel] = (positions[channel] ?? 0) + 1;
      if (step === undefined) {
        if (!script.ends) continue;
        ended.add(channel);
        task.end(channel);
      } else if (step.isCancel) task.cancel(step.id, channel);
      else {
        said[channel]?.add(step.id);
        task.barrier(step.id, channel);
      }
    }
    check(said, ended);
  }
}

for (const mode of ['EXACTLY_ONCE', 'AT_LEAST_ONCE'] as const)
  test(`${mode}: each checkpoint ends once, and only with all channels there`, () => {
    fc.assert(
      fc.property(worldArbitrary, (world) => {
        const task = new TestTask(world.scripts.length, mode);
        let taken = 0;
        let done = 0;
        play(task, world, (said, ended) => {
          for (const id of task.snapshots.slice(taken))
            for (const [channel, barriers] of said.entries())
              assert.ok(barriers.has(id) || ended.has(channel), `channel ${channel} lacks ${id}`);
          taken = task.snapshots.length;
          assert.ok(task.handler.done >= done, 'done never falls');
          done = task.handler.done;
        });
        const over = [...task.snapshots, ...task.cancels];
        assert.equal(new Set(over).size, over.length, 'an id ends once');
        assert.deepEqual(
          task.snapshots,
          task.snapshots.toSorted((a, b) => a - b),
        );
      }),
      { numRuns: 500 },
    );
  });

test('a channel is blocked exactly while its barrier is there and others are missing', () => {
  fc.assert(
    fc.property(worldArbitrary, (world) => {
      const task = new TestTask(world.scripts.length);
      play(task, world, (said) => {
        if (task.blocked.size === 0) return;
        const newest = [...task.blocked].map((channel) => Math.max(...(said[channel] ?? [])));
        assert.equal(new Set(newest).size, 1, 'all for the same checkpoint');
        assert.ok((newest[0] ?? 0) > task.handler.done);
        assert.ok(task.blocked.size < world.scripts.length);
      });
    }),
    { numRuns: 500 },
  );
});

test('a checkpoint that every channel brings and nobody aborts is taken', () => {
  const schedule = fc.array(fc.nat({ max: 3 }), { minLength: 0, maxLength: 200 });
  fc.assert(
    fc.property(fc.constantFrom('EXACTLY_ONCE', 'AT_LEAST_ONCE'), schedule, (mode, choices) => {
      const task = new TestTask(4, mode);
      const next = [1, 1, 1, 1];
      const move = (channel: number): void => {
        const id = next[channel] ?? 1;
        if (id > CHECKPOINTS || task.blocked.has(channel)) return;
        next[channel] = id + 1;
        task.barrier(id, channel);
      };
      for (const choice of choices) move(choice);
      for (let round = 0; round < CHECKPOINTS; round++)
        for (const channel of [0, 1, 2, 3]) move(channel);
      assert.deepEqual(task.snapshots, [1, 2, 3, 4, 5]);
    }),
    { numRuns: 300 },
  );
});
