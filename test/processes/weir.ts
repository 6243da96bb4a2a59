/**
 * What the tests of this folder share: the real command `weir`, started from the checkout as a
 * process of its own, in a folder of its own. Nothing waits for a fixed time: tests wait for lines,
 * files and ends of processes, each wait with a limit. What a test leaves running is killed.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const ROOT: string = fileURLToPath(new URL('../../', import.meta.url));
export const WORD_COUNT: string = join(ROOT, 'examples/word-count.ts');
const WEIR = join(ROOT, 'packages/core/bin/weir.js');

/** Longer than anything here takes on a busy machine; what hangs is ended and told. */
const LIMIT_MS = 60_000;
const LOOK_EVERY_MS = 5;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
  /** Both, in the order they came. */
  readonly output: string;
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Options of Node itself. */
  readonly nodeOptions?: readonly string[];
  readonly dataDirectory?: string;
  readonly cwd?: string;
}

/** A running `weir`. */
export class Weir {
  readonly child: ChildProcess;
  /** Resolves when the process is gone; rejects when it had to be ended for its hanging. */
  readonly ended: Promise<Ended>;
  output = '';
  isOver = false;
  readonly #args: readonly string[];

  constructor(args: readonly string[], cwd: string, options: StartOptions) {
    this.#args = args;
    this.child = spawn(process.execPath, [...(options.nodeOptions ?? []), WEIR, ...args], {
      cwd,
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      this.output += text;
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      err += text;
      this.output += text;
    });
    this.ended = new Promise((resolve, reject) => {
      const limit = setTimeout(() => {
        this.child.kill('SIGKILL');
        reject(new Error(`${this.#name} did not end; it printed:\n${this.output}`));
      }, LIMIT_MS);
      this.child.on('close', (code, signal) => {
        clearTimeout(limit);
        this.isOver = true;
        resolve({ code, signal, out, err, output: this.output });
      });
    });
    // Who does not wait for the end learns of the hanging by the test's other waits.
    this.ended.catch(() => undefined);
  }

  get pid(): number {
    return this.child.pid as number;
  }

  /** Resolves once the output matches; rejects when the process ends without. */
  async said(pattern: RegExp): Promise<void> {
    await this.until(`the output ${pattern}`, () => pattern.test(this.output));
  }

  /** As `until`, but rejects when the process ends first. */
  until<T>(what: string, look: () => T | false | null): Promise<T> {
    return until(`${this.#name}: ${what}`, () => {
      const isOver = this.isOver;
      const answer = look();
      if (isOver && (answer === false || answer === null))
        throw new Error(`${this.#name} ended without ${what}:\n${this.output}`);
      return answer;
    });
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Ended> {
    this.child.kill(signal);
    return this.ended;
  }

  get #name(): string {
    return `weir ${this.#args.join(' ')}`;
  }
}

/** A temporary folder with a data folder in it, and the processes started there. */
export class Place {
  readonly folder: string;
  readonly dataDirectory: string;
  readonly #started: Weir[] = [];
  readonly #cleanUps: (() => void)[] = [];

  constructor(name = 'weir-process-test-') {
    this.folder = realpathSync(mkdtempSync(join(tmpdir(), name)));
    this.dataDirectory = join(this.folder, 'data');
  }

  path(...names: readonly string[]): string {
    return join(this.folder, ...names);
  }

  write(name: string, text: string | Uint8Array): string {
    const path = this.path(name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** A job file; `@weir/core` is imported by the text itself. */
  job(name: string, text: string): string {
    return this.write(name, text);
  }

  start(args: readonly string[], options: StartOptions = {}): Weir {
    const env = {
      WEIR_DATA_DIR: options.dataDirectory ?? this.dataDirectory,
      NODE_V8_COVERAGE: '',
      ...options.env,
    };
    const weir = new Weir(args, options.cwd ?? this.folder, { ...options, env });
    this.#started.push(weir);
    return weir;
  }

  run(args: readonly string[], options: StartOptions = {}): Promise<Ended> {
    return this.start(args, options).ended;
  }

  /** Called when the processes are gone, before the folder is removed. */
  atEnd(cleanUp: () => void): void {
    this.#cleanUps.push(cleanUp);
  }

  async dispose(): Promise<void> {
    for (const weir of this.#started) if (!weir.isOver) weir.child.kill('SIGKILL');
    await Promise.allSettled(this.#started.map((weir) => weir.ended));
    for (const cleanUp of this.#cleanUps) cleanUp();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A place that is cleared when the test ends. */
export function place(context: TestContext): Place {
  const made = new Place();
  context.after(() => made.dispose());
  return made;
}

/** Resolves with the first answer that is not false or null; `what` says what was waited for. */
export async function until<T>(what: string, look: () => T | false | null): Promise<T> {
  const limit = performance.now() + LIMIT_MS;
  while (performance.now() < limit) {
    const answer = look();
    if (answer !== false && answer !== null) return answer;
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error(`waited in vain: ${what}`);
}
