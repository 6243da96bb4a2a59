/** A job of `levels-job.ts` with topics and a folder of its own, and what was given to it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Configuration } from '../../../packages/core/src/base/configuration.ts';
import { prepareJob } from '../../../packages/core/src/jobmanager/prepare-run.ts';
import type { KafkaCluster } from '../../../packages/kafka/src/client/cluster.ts';
import { completedCheckpoints, startWeir } from '../../../tools/exactly-once/weir-process.ts';
import type { WeirProcess } from '../../../tools/exactly-once/weir-process.ts';
import { createTopic } from './clients.ts';
import { fill } from './jobs.ts';
import levels from './levels-job.ts';
import type { Delivery } from './levels-job.ts';
import { readValues } from './read-back.ts';
import { fresh, sharedProxy } from './shared-broker.ts';

const JOB = fileURLToPath(new URL('./levels-job.ts', import.meta.url));

export type Mode = 'OFF' | 'AT_LEAST_ONCE' | 'EXACTLY_ONCE';

export interface Cell {
  readonly source: 'kafka' | 'socket';
  readonly mode: Mode;
  readonly delivery: Delivery;
  readonly words?: readonly string[];
}

export interface Seen {
  readonly isLost: boolean;
  readonly isDoubled: boolean;
}

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
export class Trial {
  readonly fed: string[] = [];
  readonly folder: string = mkdtempSync(join(tmpdir(), 'weir-levels-'));
  readonly cluster: KafkaCluster;
  readonly #cell: Cell;
  readonly #words: readonly string[];
  readonly #from: string;
  readonly to: string;
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
    this.to = facts.to;
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

  read(
    readCommitted: boolean = this.#cell.delivery === 'exactly-once',
  ): Promise<readonly string[]> {
    return readValues(this.cluster, this.to, readCommitted);
  }

  /** Waits until all of these have been written, in open transactions too where asked. */
  async written(values: readonly string[], readCommitted: boolean): Promise<void> {
    for (;;) {
      const seen = new Set(await this.read(readCommitted));
      if (values.every((value) => seen.has(value))) return;
      await sleep(20);
    }
  }

  /** Every value that was fed is there once. */
  async isExact(): Promise<boolean> {
    const { isLost, isDoubled } = await this.seen();
    return !isLost && !isDoubled;
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

export function letPass(): void {
  sharedProxy().verdict = () => 'forward';
}

export async function withTrial(
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
