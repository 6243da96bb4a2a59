/** An environment without a process, for the tests of this folder. */
import { ManualClock } from '../base/clock.ts';
import type { JobId } from '../base/ids.ts';
import { MemoryFileSystem } from '../storage/memory-file-system.ts';
import { RestClient } from '../rest/rest-client.ts';
import { commandLine } from './command-line.ts';
import type { Environment, StopSignal } from './environment.ts';
import type { LoadedJob, RunEvent, RunOptions, RunOutcome } from './run-contract.ts';
import { Terminal } from './terminal.ts';
import type { Screen } from './terminal.ts';

/** Keeps what is written. */
export class TextScreen implements Screen {
  text = '';
  readonly isTerminal: boolean;
  columns = 80;
  rows = 24;

  constructor(isTerminal = false) {
    this.isTerminal = isTerminal;
  }

  write(text: string): void {
    this.text += text;
  }

  get lines(): readonly string[] {
    return this.text.split('\n').slice(0, -1);
  }
}

export const JOB_ID = '0123456789abcdef0123456789abcdef' as JobId;

export function outcome(parts: Partial<RunOutcome> = {}): RunOutcome {
  return {
    jobId: JOB_ID,
    status: 'FINISHED',
    error: null,
    restarts: 0,
    completedCheckpoints: 3,
    latestCheckpoint: '/data/checkpoints/chk-3',
    savepoint: null,
    durationMs: 2500,
    ...parts,
  };
}

/** What a run of this job would be: it builds nothing. */
export function loadedJob(): LoadedJob {
  const job = { name: 'orders', build: () => undefined } as unknown as LoadedJob['job'];
  return { job, sourcePath: '/here/orders.ts', bundleUrl: null };
}

export const STARTED: RunEvent & { readonly type: 'started' } = {
  type: 'started',
  jobId: JOB_ID,
  jobName: 'orders',
  start: 'job orders: no earlier run, starts empty',
  restoredCheckpointId: null,
  elapsedMs: 0,
  parallelism: 2,
};

export class TestEnvironment implements Environment {
  readonly workingDirectory = '/here';
  variables: Record<string, string | undefined> = {};
  readonly clock: ManualClock = new ManualClock();
  readonly fileSystem: MemoryFileSystem = new MemoryFileSystem();
  readonly version = '1.2.3';
  readonly internalDirectories: readonly string[] = ['/engine/'];
  readonly out: TextScreen;
  readonly error: TextScreen;
  readonly terminal: Terminal;
  readonly exits: number[] = [];
  /** Options of the runs that were started. */
  readonly runs: RunOptions[] = [];
  /** What a run does. */
  run: (options: RunOptions) => Promise<RunOutcome> = async (options) => {
    options.listener(STARTED);
    return outcome();
  };
  load: (path: string) => Promise<LoadedJob> = async () => loadedJob();
  #signals: ((signal: StopSignal) => void)[] = [];

  constructor(isTerminal = false) {
    this.out = new TextScreen(isTerminal);
    this.error = new TextScreen(isTerminal);
    this.terminal = new Terminal(this.out, this.error, this.clock);
  }

  readonly loadJob = (path: string): Promise<LoadedJob> => this.load(path);

  readonly runLocal = (options: RunOptions): Promise<RunOutcome> => {
    this.runs.push(options);
    return this.run(options);
  };

  /** What a REST API would do. */
  rest: (address: string) => Promise<RestClient> = async (address) =>
    new RestClient(this.clock, address);

  readonly restClient = (address: string): Promise<RestClient> => this.rest(address);

  readonly onSignal = (callback: (signal: StopSignal) => void): (() => void) => {
    this.#signals.push(callback);
    return () => {
      this.#signals = this.#signals.filter((one) => one !== callback);
    };
  };

  readonly exit = (code: number): void => {
    this.exits.push(code);
  };

  signal(signal: StopSignal): void {
    for (const callback of this.#signals) callback(signal);
  }

  async writeFile(path: string, text: string): Promise<void> {
    const writer = await this.fileSystem.create(path);
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
  }

  /** Runs `weir` with these words; the result is the exit code. */
  weir(...args: readonly string[]): Promise<number> {
    return commandLine(args, this);
  }
}
