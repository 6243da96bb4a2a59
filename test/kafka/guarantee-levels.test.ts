/**
 * For every cell of {source} × {mode} × {delivery} the job is killed at its worst moments, and what
 * a reader sees is exactly the level that the planner computes: at-least-once must show a
 * duplicate, at-most-once a loss, none both, exactly-once neither.
 *
 * The schedule of a cell: the broker's answer to the first write is lost; records are written that
 * no checkpoint has; the writes of further records are held back at the broker's door, and the
 * process is killed. Then it starts again, and more records come.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { PRODUCE } from '../../packages/kafka/src/wire/produce.ts';
import { kill9 } from '../../tools/exactly-once/weir-process.ts';
import { END_TXN_KEY } from '../../tools/kafka/proxy.ts';
import { clusterAt } from './support/clients.ts';
import { brokerTest, sharedProxy } from './support/shared-broker.ts';
import { letPass, withTrial } from './support/trial.ts';
import type { Cell, Seen, Trial } from './support/trial.ts';

const SEEN_OF: Readonly<Record<string, Seen>> = {
  none: { isLost: true, isDoubled: true },
  'at-most-once': { isLost: true, isDoubled: false },
  'at-least-once': { isLost: false, isDoubled: true },
  'exactly-once': { isLost: false, isDoubled: false },
};

/** The answer to the next write is lost; the writes after it pass. */
function loseOneAnswer(): void {
  let isDone = false;
  sharedProxy().verdict = (key) => {
    if (key !== PRODUCE.key || isDone) return 'forward';
    isDone = true;
    return 'lose-answer';
  };
}

/** Holds writes back; the answer tells how many. */
function holdWrites(): () => number {
  let held = 0;
  sharedProxy().verdict = (key) => {
    if (key !== PRODUCE.key) return 'forward';
    held++;
    return 'hold';
  };
  return () => held;
}

/** Records behind the newest checkpoint are written, others are held back, then the kill. */
async function killAtTheWorst(cell: Cell, trial: Trial): Promise<void> {
  loseOneAnswer();
  const weir = trial.start();
  await trial.written(await trial.feed(20), false);
  const isCheckpointing = cell.mode !== 'OFF';
  for (;;) {
    if (isCheckpointing) await trial.checkpoints(1);
    const before = trial.newestCheckpoint;
    await trial.written(await trial.feed(20), false);
    const held = holdWrites();
    await trial.feed(20);
    while (held() === 0) await sleep(5);
    if (cell.delivery === 'none' && isCheckpointing) await trial.checkpoints(2);
    // A checkpoint that came in between has all that was written: once more.
    const isBehind =
      !isCheckpointing || cell.delivery === 'none' || trial.newestCheckpoint === before;
    if (isBehind) break;
    letPass();
  }
  await kill9(weir);
  letPass();
}

async function provesLevel(cell: Cell, trial: Trial): Promise<void> {
  await killAtTheWorst(cell, trial);
  if (cell.mode === 'OFF') {
    const again = await trial.start().ended;
    assert.notEqual(again.code, 0, 'a run without checkpoints cannot go on');
    assert.match(again.output, /--fresh/);
  } else {
    const again = trial.start();
    await trial.written(await trial.feed(20), cell.delivery === 'exactly-once');
    await kill9(again);
  }
  assert.deepEqual(await trial.seen(), SEEN_OF[trial.level], trial.level);
}

/** A timer that a checkpoint has fires, and the process is killed before the next knows of it. */
async function killAfterTimer(trial: Trial): Promise<void> {
  for (;;) {
    const weir = trial.start();
    const before = (await trial.read()).length;
    await trial.feed(1);
    await trial.checkpoints(1);
    let newest: number;
    do newest = trial.newestCheckpoint;
    while ((await trial.read()).length === before);
    await kill9(weir);
    if (trial.newestCheckpoint === newest) return;
  }
}

const MODES = ['OFF', 'AT_LEAST_ONCE', 'EXACTLY_ONCE'] as const;
const DELIVERIES = ['none', 'at-least-once', 'exactly-once'] as const;

for (const source of ['kafka', 'socket'] as const)
  for (const mode of MODES)
    for (const delivery of DELIVERIES) {
      const cell = { source, mode, delivery };
      // The cells whose schedule is another stand below.
      if (mode === 'OFF' && delivery === 'exactly-once') continue;
      if (source === 'kafka' && mode === 'AT_LEAST_ONCE' && delivery === 'exactly-once') continue;
      brokerTest(`killed, ${source} · ${mode} · ${delivery} shows its level`, async (broker) => {
        if (!broker.isOwn) return;
        const cluster = clusterAt(broker);
        await withTrial(cell, cluster, (trial) => provesLevel(cell, trial));
        await cluster.close();
      });
    }

brokerTest(
  'killed, kafka · OFF · exactly-once is at most once, and refused without an end of input',
  async (broker) => {
    if (!broker.isOwn) return;
    const cluster = clusterAt(broker);
    const endless = { source: 'kafka', mode: 'OFF', delivery: 'exactly-once' } as const;
    await withTrial(endless, cluster, async (trial) => {
      assert.throws(() => trial.level, /publishes on completed checkpoints; checkpointing is off/);
    });
    const cell = { ...endless, words: ['--bounded'] };
    await withTrial(cell, cluster, async (trial) => {
      await trial.feed(20);
      let held = 0;
      sharedProxy().verdict = (key) => {
        if (key !== END_TXN_KEY) return 'forward';
        held++;
        return 'hold';
      };
      const weir = trial.start();
      while (held === 0) await sleep(5);
      await kill9(weir);
      letPass();
      assert.deepEqual(await trial.seen(), SEEN_OF[trial.level], trial.level);
      assert.equal(trial.level, 'at-most-once');
    });
    await cluster.close();
  },
);

brokerTest(
  'killed, kafka · AT_LEAST_ONCE · exactly-once doubles what passed a late barrier',
  async (broker) => {
    if (!broker.isOwn) return;
    const cluster = clusterAt(broker);
    const words = ['--shuffle'];
    const cell = {
      source: 'kafka',
      mode: 'AT_LEAST_ONCE',
      delivery: 'exactly-once',
      words,
    } as const;
    await withTrial(
      cell,
      cluster,
      async (trial) => {
        for (let attempt = 0; attempt < 5; attempt++) {
          const weir = trial.start(['-p', '2']);
          await trial.written(await trial.feed(4, 0), true);
          // One subtask is blocked and its barrier is late; the other's records pass meanwhile.
          const before = trial.newestCheckpoint;
          await trial.feed(3, 1, 'slow-');
          while (trial.newestCheckpoint < before + 1) {
            await trial.feed(4, 0);
            await sleep(20);
          }
          await kill9(weir);
          const again = trial.start(['-p', '2']);
          await trial.written(await trial.feed(4, 0), true);
          await trial.written(trial.fed, true);
          await kill9(again);
          if ((await trial.seen()).isDoubled) break;
        }
        assert.equal(trial.level, 'at-least-once');
        assert.deepEqual(await trial.seen(), SEEN_OF[trial.level]);
      },
      2,
    );
    await cluster.close();
  },
);

brokerTest(
  'killed, timers in front of a plain sink fire twice: none without replay, else at least once',
  async (broker) => {
    if (!broker.isOwn) return;
    const cluster = clusterAt(broker);
    for (const source of ['socket', 'kafka'] as const) {
      const words = ['--timers'];
      const cell = { source, mode: 'EXACTLY_ONCE', delivery: 'at-least-once', words } as const;
      await withTrial(cell, cluster, async (trial) => {
        await killAfterTimer(trial);
        const before = (await trial.read()).length;
        const again = trial.start();
        while ((await trial.read()).length === before) await sleep(20);
        await kill9(again);
        assert.equal((await trial.seen()).isDoubled, true, 'the same timer');
        assert.equal(trial.level, source === 'socket' ? 'none' : 'at-least-once');
      });
    }
    await cluster.close();
  },
);
