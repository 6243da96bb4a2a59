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
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Configuration } from '../../packages/core/src/base/configuration.ts';
import { prepareJob } from '../../packages/core/src/jobmanager/prepare-run.ts';
import type { KafkaCluster } from '../../packages/kafka/src/client/cluster.ts';
import { PRODUCE } from '../../packages/kafka/src/wire/produce.ts';
import { completedCheckpoints, kill9, startWeir } from '../../tools/exactly-once/weir-process.ts';
import type { WeirProcess } from '../../tools/exactly-once/weir-process.ts';
import { END_TXN_KEY } from '../../tools/kafka/proxy.ts';
import { clusterAt, createTopic } from './support/clients.ts';
import { fill } from './support/jobs.ts';
import levels from './support/levels-job.ts';
import type { Delivery } from './support/levels-job.ts';
import { readValues } from './support/read-back.ts';
import { brokerTest, fresh, sharedProxy } from './support/shared-broker.ts';

const JOB = fileURLToPath(new URL('./support/levels-job.ts', import.meta.url));

type Mode = 'OFF' | 'AT_LEAST_ONCE' | 'EXACTLY_ONCE';

interface Cell {
  readonly source: 'kafka' | 'socket';
  readonly mode: Mode;
  readonly delivery: Delivery;
  readonly words?: readonly string[];
}

interface Seen {
  readonly isLost: boolean;
  readonly isDoubled: boolean;
}

const SEEN_OF: Readonly<Record<string, Seen>> = {
  none: { isLost: true, isDoubled: true },
  'at-most-once': { isLost: true, isDoubled: false },
  'at-least-once': { isLost: false, isDoubled: true },
  'exactly-once': { isLost: false, isDoubled: false },
};

/** Lines for whoever reads the socket; what is written while nobody reads is lost. */
class LineServer {
  readonly #server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('close', () => this.#readers.delete(socket));
    this.#readers.add(socket);
  });
  readonly #readers = new Set<Socket>();

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  async write(values: readonly string[]): Promise<void> {
    while (this.#readers.size === 0) await sleep(10);
    for (const reader of this.#readers) reader.write(`${values.join('\n')}\n`);
  }

  async close(): Promise<void> {
    for (const reader of this.#readers) reader.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** One cell with its topics, its folder and what was given to it. */
class Trial {
  readonly fed: string[] = [];
  readonly folder: string = mkdtempSync(join(tmpdir(), 'weir-levels-'));
  readonly cluster: KafkaCluster;
  readonly #cell: Cell;
  readonly #words: readonly string[];
  readonly #from: string;
  readonly #to: string;
  readonly #server: LineServer | null;
  #count = 0;

  private constructor(
    cell: Cell,
    facts: { cluster: KafkaCluster; from: string; to: string; server: LineServer | null },
    words: readonly string[],
  ) {
    this.#cell = cell;
    this.cluster = facts.cluster;
    this.#from = facts.from;
    this.#to = facts.to;
    this.#server = facts.server;
    this.#words = words;
  }

  static async open(cell: Cell, cluster: KafkaCluster, partitions = 1): Promise<Trial> {
    const [from, to] = [fresh('in'), fresh('out')];
    await createTopic(cluster, from, partitions);
    await createTopic(cluster, to);
    const server = cell.source === 'socket' ? new LineServer() : null;
    const socket = server === null ? [] : ['--socket', String(await server.listen())];
    const words = ['--bootstrap', `127.0.0.1:${sharedProxy().port}`, '--from', from, '--to', to];
    words.push('--delivery', cell.delivery, ...socket, ...(cell.words ?? []));
    return new Trial(cell, { cluster, from, to, server }, words);
  }

  get level(): string {
    const configuration = Configuration.of(Object.fromEntries(this.#settings()), 'test');
    return prepareJob(levels, { configuration, arguments: this.#words }).guarantees.level;
  }

  start(options: readonly string[] = []): WeirProcess {
    const settings = this.#settings().flatMap(([key, value]) => ['-D', `${key}=${value}`]);
    return startWeir({
      args: [...options, ...settings, JOB, ...this.#words],
      cwd: this.folder,
      dataDirectory: this.folder,
      show: false,
    });
  }

  async feed(count: number, partition = 0, prefix = ''): Promise<readonly string[]> {
    const values = Array.from({ length: count }, () => `${prefix}${this.#count++}`);
    this.fed.push(...values);
    if (this.#server !== null) await this.#server.write(values);
    else {
      const lists = Array.from({ length: partition + 1 }, (_, at) =>
        at === partition ? values : [],
      );
      await fill(this.cluster, this.#from, lists);
    }
    return values;
  }

  read(readCommitted = this.#cell.delivery === 'exactly-once'): Promise<readonly string[]> {
    return readValues(this.cluster, this.#to, readCommitted);
  }

  /** Waits until all of these have been written, in open transactions too where asked. */
  async written(values: readonly string[], readCommitted: boolean): Promise<void> {
    for (;;) {
      const seen = new Set(await this.read(readCommitted));
      if (values.every((value) => seen.has(value))) return;
      await sleep(20);
    }
  }

  async checkpoints(count: number): Promise<void> {
    const target = (completedCheckpoints(this.folder).at(-1) ?? 0) + count;
    while ((completedCheckpoints(this.folder).at(-1) ?? 0) < target) await sleep(10);
  }

  get newestCheckpoint(): number {
    return completedCheckpoints(this.folder).at(-1) ?? 0;
  }

  async seen(): Promise<Seen> {
    const values = await this.read();
    return {
      isLost: this.fed.some((value) => !values.includes(value)),
      isDoubled: new Set(values).size < values.length,
    };
  }

  async close(): Promise<void> {
    await this.#server?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #settings(): readonly (readonly [string, string])[] {
    const { mode } = this.#cell;
    if (mode === 'OFF') return [];
    return [
      ['execution.checkpointing.interval', '300ms'],
      ['execution.checkpointing.mode', mode],
    ];
  }
}

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

function letPass(): void {
  sharedProxy().verdict = () => 'forward';
}

async function withTrial(
  cell: Cell,
  cluster: KafkaCluster,
  run: (trial: Trial) => Promise<void>,
  partitions = 1,
): Promise<void> {
  const trial = await Trial.open(cell, cluster, partitions);
  try {
    await run(trial);
  } finally {
    letPass();
    await trial.close();
  }
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
