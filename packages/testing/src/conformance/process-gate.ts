/**
 * The way from one process to the outer system. Every call goes through it, and at one of them
 * something may happen: the process dies, or a message is lost. A dead process waits for ever for
 * its answers: nothing of it runs on.
 */
import { StorageUnavailableError } from '@weir/core';
import type { FileReader, FileSystem, FileWriter } from '@weir/core';

/**
 * `crash-before`, `crash-after`: the process dies, and the call has no effect, or has it ·
 * `lose-request`, `lose-answer`: the call fails, and has no effect, or has it · `stand-still`: the
 * call is made much later.
 */
export type StepFault =
  | 'crash-before'
  | 'crash-after'
  | 'lose-request'
  | 'lose-answer'
  | 'stand-still';

/** Counts the calls of all processes of a case, and says at which of them what happens. */
export class Steps {
  readonly names: string[] = [];
  #fault: StepFault | null;
  #at: number;
  #meanwhile: () => void | Promise<void> = () => undefined;
  readonly #stood = Promise.withResolvers<void>();
  readonly #released = Promise.withResolvers<void>();

  /** `at`: the number of the call, from 0. */
  constructor(fault: StepFault | null = null, at = -1) {
    this.#fault = fault;
    this.#at = at;
  }

  /** Whether the call that something happens at is still to come. */
  get isArmed(): boolean {
    return this.#at >= this.names.length;
  }

  /** The call at which something happens, in words. */
  get at(): string {
    return this.names[this.#at] ?? 'nothing';
  }

  /** `calls` calls from now an answer is lost; `meanwhile` happens when the call has its effect. */
  loseAnswer(calls: number, meanwhile: () => void | Promise<void>): void {
    this.#fault = 'lose-answer';
    this.#at = this.names.length + calls;
    this.#meanwhile = meanwhile;
  }

  /** The process that makes the call stands still before it, until `release`. */
  standStill(calls: number): void {
    this.#fault = 'stand-still';
    this.#at = this.names.length + calls;
  }

  /** Resolves when a process stands still. */
  get stood(): Promise<void> {
    return this.#stood.promise;
  }

  release(): void {
    this.#released.resolve();
  }

  /** For the gate of the process that stands still. */
  async untilReleased(): Promise<void> {
    this.#stood.resolve();
    await this.#released.promise;
  }

  disarm(): void {
    this.#at = -1;
  }

  async meanwhile(): Promise<void> {
    await this.#meanwhile();
  }

  next(name: string): StepFault | null {
    this.names.push(name);
    return this.names.length - 1 === this.#at ? this.#fault : null;
  }
}

/** What a process that died is told of: nothing behind it runs. */
export class ProcessDied extends Error {
  override readonly name = 'ProcessDied';
}

export class ProcessGate {
  /** Rejects when the process dies. */
  readonly died: Promise<never>;
  readonly #steps: Steps;
  #isDead = false;
  #die: (reason: ProcessDied) => void = () => undefined;

  constructor(steps: Steps) {
    this.#steps = steps;
    this.died = new Promise((_resolve, reject) => {
      this.#die = reject;
    });
    this.died.catch(() => undefined);
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  kill(name = 'killed'): void {
    this.#isDead = true;
    this.#die(new ProcessDied(name));
  }

  /** Makes a call to the outer system. `name` stands in messages. */
  async call<R>(name: string, act: () => Promise<R>): Promise<R> {
    if (this.#isDead) return new Promise<never>(() => undefined);
    const fault = this.#steps.next(name);
    if (fault === 'stand-still') await this.#steps.untilReleased();
    if (fault === null || fault === 'stand-still') return this.#alive(await act());
    if (fault === 'crash-after' || fault === 'lose-answer') {
      await act();
      await this.#steps.meanwhile();
    }
    if (fault === 'crash-before' || fault === 'crash-after') {
      this.kill(name);
      return new Promise<never>(() => undefined);
    }
    throw new StorageUnavailableError(`the outer system does not answer: ${name}`);
  }

  /** An answer that comes when the process is gone reaches nobody. */
  #alive<R>(answer: R): R | Promise<never> {
    return this.#isDead ? new Promise<never>(() => undefined) : answer;
  }
}

/** A file system behind a gate: what changes a file or its name is a step. */
export function gatedFileSystem(disk: FileSystem, gate: ProcessGate): FileSystem {
  const step = <R>(name: string, path: string, act: () => Promise<R>): Promise<R> =>
    gate.call(`${name} ${path}`, act);
  return {
    stat: (path) => disk.stat(path),
    list: (path) => disk.list(path),
    readFile: (path) => disk.readFile(path),
    openForRead: (path): Promise<FileReader> => disk.openForRead(path),
    makeDirectory: (path) => step('makeDirectory', path, () => disk.makeDirectory(path)),
    create: async (path, options): Promise<FileWriter> => {
      const writer = await step('create', path, () => disk.create(path, options));
      return {
        write: (bytes) => {
          const copy = bytes.slice();
          return step('write', path, () => writer.write(copy));
        },
        sync: () => step('sync', path, () => writer.sync()),
        close: () => writer.close(),
      };
    },
    truncate: (path, size) => step('truncate', path, () => disk.truncate(path, size)),
    rename: (from, to) => step('rename', to, () => disk.rename(from, to)),
    link: (from, to) => step('link', to, () => disk.link(from, to)),
    syncDirectory: (path) => step('syncDirectory', path, () => disk.syncDirectory(path)),
    remove: (path) => step('remove', path, () => disk.remove(path)),
    removeDirectory: (path) => step('removeDirectory', path, () => disk.removeDirectory(path)),
  };
}
