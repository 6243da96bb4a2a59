/**
 * The matrix of guarantees on real systems: processes that are killed with SIGKILL, files and
 * sockets in front, files, PostgreSQL, Redis and HTTP behind. What readers see, over all kills, is
 * just the level that the planner computes for the path. (Kafka's cells are in test/kafka; every
 * combination, those without a system of their own as well, is seen in the simulation.)
 */
import assert from 'node:assert/strict';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Configuration } from '../../packages/core/src/base/configuration.ts';
import { prepareJob } from '../../packages/core/src/jobmanager/prepare-run.ts';
import type { JobDetailsJson } from '../../packages/core/src/rest/contract.ts';
import type { Seen } from '../../packages/simulation/src/guarantees/cell.ts';
import { levelOf } from '../../packages/simulation/src/guarantees/guarantee-table.ts';
import { completedCheckpoints, kill9, startWeir } from '../../tools/exactly-once/weir-process.ts';
import type { WeirProcess } from '../../tools/exactly-once/weir-process.ts';
import cells, {
  isByCheckpoint,
  nameOf,
  OPERATORS,
  sinksBehind,
  standingMark,
} from './support/cells-job.ts';
import type { Operator, SinkName } from './support/cells-job.ts';
import { storesTest } from './support/stores.ts';
import type { Stores } from './support/stores.ts';

const JOB = fileURLToPath(new URL('./support/cells-job.ts', import.meta.url));
/** Enough for three kills; a socket goes on while nobody reads. */
const RECORDS = { files: 240, socket: 400 } as const;
const RATE = 45;
const LINGER_MS = 30;
/** So many pass the barrier of their own subtask before that of the other comes. */
const RECORDS_BEFORE_BARRIER = 12;
/** Of keys that belong to different subtasks: one goes on while the other stands still. */
const GROUPS = ['a', 'b'];

interface Group {
  readonly source: 'files' | 'socket';
  readonly mode: 'OFF' | 'AT_LEAST_ONCE' | 'EXACTLY_ONCE';
}

/** One group of cells: its folder, its input, its processes. */
class Trial {
  readonly #group: Group;
  readonly #stores: Stores;
  readonly #name: string;
  readonly folder: string = mkdtempSync(join(tmpdir(), 'weir-matrix-'));
  readonly #readers = new Set<Socket>();
  #words: readonly string[] = [];
  #fed = 0;
  #isEnding = false;
  readonly #server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('close', () => this.#readers.delete(socket));
    this.#readers.add(socket);
    if (this.#isEnding) socket.end();
  });

  constructor(group: Group, stores: Stores) {
    this.#group = group;
    this.#stores = stores;
    this.#name = `${group.source}_${group.mode}`.toLowerCase();
  }

  async open(): Promise<void> {
    const { source, mode } = this.#group;
    await this.#stores.makeTables(this.#name);
    mkdirSync(join(this.folder, 'in'));
    mkdirSync(join(this.folder, 'out'));
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const { port } = this.#server.address() as AddressInfo;
    const from =
      source === 'socket'
        ? ['--socket', String(port)]
        : ['--input', join(this.folder, 'in', '*'), '--rate', String(RATE)];
    if (source === 'files')
      for (const file of [0, 1]) {
        const text = this.#lines().filter((_, index) => index % 2 === file);
        writeFileSync(join(this.folder, 'in', `${file}.txt`), `${text.join('\n')}\n`);
      }
    const atOnce = source === 'socket' && mode === 'OFF' ? ['--at-once'] : [];
    const to = ['--output', join(this.folder, 'out'), '--name', this.#name, '--gate', this.gate];
    this.#words = [...from, ...to, ...this.#stores.words, ...atOnce];
  }

  /** Some stand still before a gate, all of them in one file. */
  #lines(): string[] {
    return Array.from({ length: RECORDS[this.#group.source] }, (_, index) => {
      const isSlow = this.#group.source === 'files' && index % 20 === 2;
      return `r${index} ${GROUPS[Math.floor(index / 2) % 2]}${isSlow ? ' slow' : ''}`;
    });
  }

  get gate(): string {
    return join(this.folder, 'gate');
  }

  #settings(interval: string): readonly [string, string][] {
    const { mode } = this.#group;
    if (mode === 'OFF') return [];
    return [
      // Each record is sent at once, in a buffer of its own; with few of them one subtask that
      // stands still would soon hold up the other.
      ['taskmanager.network.memory.buffers-per-channel', '100'],
      ['execution.checkpointing.interval', interval],
      ['execution.checkpointing.mode', mode],
    ];
  }

  start(interval = '200ms'): WeirProcess {
    const settings = this.#settings(interval).flatMap(([key, value]) => ['-D', `${key}=${value}`]);
    return startWeir({
      args: ['-p', '2', ...settings, JOB, ...this.#words],
      cwd: this.folder,
      dataDirectory: join(this.folder, 'data'),
      show: false,
    });
  }

  /** Asks the API of the run for something; null while there is none. */
  async #ask(path: string, method = 'GET'): Promise<unknown> {
    const [note] = globSync(join(this.folder, 'data', 'jobs', '*', 'rest.json'));
    if (note === undefined) return null;
    try {
      const { address } = JSON.parse(readFileSync(note, 'utf8')) as { readonly address: string };
      const url = `http://${address}/jobs/${basename(dirname(note))}${path}`;
      const answer = await fetch(url, method === 'POST' ? { method, body: '{}' } : {});
      return answer.ok ? await answer.json() : null;
    } catch {
      // The run that noted its address is over, and the next is about to note its own.
      return null;
    }
  }

  /** Every task has its state back. */
  async whenRunning(): Promise<void> {
    for (;;) {
      const job = (await this.#ask('')) as JobDetailsJson | null;
      if (job?.vertices.every(({ tasks, parallelism }) => tasks['RUNNING'] === parallelism)) return;
      await sleep(5);
    }
  }

  async triggerCheckpoint(): Promise<void> {
    assert.notEqual(await this.#ask('/checkpoints', 'POST'), null);
  }

  get newestCheckpoint(): number {
    return completedCheckpoints(join(this.folder, 'data')).at(-1) ?? 0;
  }

  /** How many results there are of a branch that writes at once. */
  written(operator: Operator): number {
    try {
      const path = join(this.folder, 'out', nameOf(this.#name, operator, 'plain'));
      return readFileSync(path, 'utf8').split('\n').length - 1;
    } catch {
      return 0;
    }
  }

  /** How many results were sent to the receiver that takes everything. */
  sent(operator: Operator): number {
    return this.#stores.received(this.#name, operator, 'httpAgain');
  }

  /** The next line of the socket; what nobody reads is lost. */
  feed(): void {
    if (this.#group.source !== 'socket') return;
    const line = this.#lines()[this.#fed];
    if (line === undefined) return this.endInput();
    this.#fed++;
    for (const reader of this.#readers) reader.write(`${line}\n`);
  }

  endInput(): void {
    this.#isEnding = true;
    for (const reader of this.#readers) reader.end();
  }

  levels(): ReadonlyMap<string, string> {
    const settings = [...this.#settings('200ms'), ['parallelism.default', '2']] as [
      string,
      string,
    ][];
    const configuration = Configuration.of(Object.fromEntries(settings), 'test');
    const { paths } = prepareJob(cells, { configuration, arguments: this.#words }).guarantees;
    return new Map(paths.map(({ sink, level }) => [sink.uid ?? '', level]));
  }

  async seen(operator: Operator, sink: SinkName): Promise<Seen> {
    const out = join(this.folder, 'out');
    const results = await this.#stores.read(this.#name, operator, sink, out);
    const wanted = this.#lines().map((line) => line.split(' '));
    if (sink === 'postgresConverging' && operator === 'ordered') {
      const differences = GROUPS.map((group) => {
        const last = results.find((it) => it.grp === group)?.n ?? 0;
        return last - wanted.filter(([, grp]) => grp === group).length;
      });
      return {
        isLost: differences.some((it) => it < 0),
        isDoubled: differences.some((it) => it > 0),
      };
    }
    const counts = wanted.map(([id]) => results.filter((it) => it.id === id).length);
    return { isLost: counts.includes(0), isDoubled: counts.some((it) => it > 1) };
  }

  async close(): Promise<void> {
    for (const reader of this.#readers) reader.destroy();
    this.#server.close();
    await sleep(0);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Waits, and lets input come meanwhile; false when the process ended. */
async function until(trial: Trial, weir: WeirProcess, isDone: () => boolean): Promise<boolean> {
  let isOver = false;
  void weir.ended.then(() => (isOver = true));
  for (let ticks = 0; !isDone(); ticks++) {
    if (isOver) return false;
    if (ticks % 4 === 3) trial.feed();
    await sleep(6);
  }
  return true;
}

/**
 * Results of the newest checkpoint are sent, and others that no checkpoint has are written at once,
 * those of timers among them; then the kill.
 */
async function killBehindCheckpoint(trial: Trial): Promise<boolean> {
  const weir = trial.start();
  const first = trial.newestCheckpoint;
  for (;;) {
    const before = trial.newestCheckpoint;
    const sent = OPERATORS.map((operator) => trial.sent(operator));
    if (!(await until(trial, weir, () => trial.newestCheckpoint > Math.max(before, first)))) break;
    const newest = trial.newestCheckpoint;
    const counts = OPERATORS.map((operator) => trial.written(operator));
    const isFurther = (): boolean =>
      OPERATORS.every(
        (operator, index) =>
          trial.written(operator) > (counts[index] ?? 0) &&
          trial.sent(operator) > (sent[index] ?? 0),
      );
    await until(trial, weir, () => isFurther() || trial.newestCheckpoint > newest);
    // Sinks that collect batches have written by then, too.
    await sleep(LINGER_MS);
    if (trial.newestCheckpoint === newest) break;
  }
  return kill9(weir);
}

/** Results are in Redis, and their confirmation is held back until the process is dead. */
async function killInTheWindow(trial: Trial, { proxy }: Stores): Promise<boolean> {
  let isHeld = false;
  proxy.verdict = ([command, key = '']) => {
    if (command !== 'SET' || !key.startsWith('separate:')) return 'forward';
    isHeld = true;
    return 'hold';
  };
  const weir = trial.start();
  await until(trial, weir, () => isHeld);
  const isKilled = await kill9(weir);
  proxy.verdict = () => 'forward';
  return isKilled;
}

/**
 * A record stands still while the barrier of its subtask is due: those of the other pass. The kill
 * comes with the checkpoint that was so late; no other follows it.
 */
async function killAfterLateBarrier(trial: Trial): Promise<boolean> {
  const weir = trial.start('1h');
  // A thread that stood still would keep its other tasks from being restored.
  await trial.whenRunning();
  writeFileSync(trial.gate, '');
  await until(trial, weir, () => existsSync(standingMark(trial.gate)));
  const newest = trial.newestCheckpoint;
  await trial.triggerCheckpoint();
  const written = trial.written('deterministic');
  const arePast = (): boolean => trial.written('deterministic') > written + RECORDS_BEFORE_BARRIER;
  await until(trial, weir, arePast);
  rmSync(trial.gate);
  await until(trial, weir, () => trial.newestCheckpoint > newest);
  return kill9(weir);
}

async function drive(trial: Trial, { source, mode }: Group, stores: Stores): Promise<void> {
  if (mode === 'OFF') {
    const weir = trial.start();
    await until(trial, weir, () => trial.written('undetermined') > 5);
    assert.ok(await kill9(weir), 'the job ended too early');
    const again = await trial.start().ended;
    assert.notEqual(again.code, 0, 'a run without checkpoints cannot go on');
    return;
  }
  assert.ok(await killBehindCheckpoint(trial), 'the job ended too early');
  assert.ok(await killInTheWindow(trial, stores), 'the job ended too early');
  if (mode === 'AT_LEAST_ONCE' && source === 'files')
    assert.ok(await killAfterLateBarrier(trial), 'the job ended too early');
  else assert.ok(await killBehindCheckpoint(trial), 'the job ended too early');
  const weir = trial.start();
  await until(trial, weir, () => false);
  const { code, output } = await weir.ended;
  assert.equal(code, 0, output);
}

for (const source of ['files', 'socket'] as const)
  for (const mode of ['OFF', 'AT_LEAST_ONCE', 'EXACTLY_ONCE'] as const)
    storesTest(`killed, ${source} · ${mode}: every path shows just its level`, async (stores) => {
      const group = { source, mode };
      const trial = new Trial(group, stores);
      try {
        await trial.open();
        const levels = trial.levels();
        await drive(trial, group, stores);
        const [seen, computed]: [string[], string[]] = [[], []];
        for (const operator of OPERATORS)
          for (const sink of sinksBehind(operator)) {
            if (source === 'socket' && mode === 'OFF' && isByCheckpoint(sink)) continue;
            const level = levels.get(`${operator}-${sink}`);
            seen.push(`${operator} → ${sink}: ${levelOf(await trial.seen(operator, sink))}`);
            computed.push(`${operator} → ${sink}: ${level}`);
          }
        assert.deepEqual(seen, computed);
      } finally {
        await trial.close();
      }
    });
