/**
 * Finds the files, cuts them into splits, and hands these out one at a time, as readers ask. A
 * folder that is watched is listed again and again; what was found once is remembered by path, in
 * the checkpoint too, so no file is read twice.
 */
import type { SplitEnumerator, SplitEnumeratorContext } from '../../api/source.ts';
import type { Timer } from '../../base/clock.ts';
import { asSourceError, sourceUnavailable } from '../file-errors.ts';
import { splitFile } from './file-split.ts';
import type { FileEnumeratorState, FileSplit, SplittingOptions } from './file-split.ts';
import { findFiles } from './find-files.ts';

export interface FileEnumeratorOptions extends Omit<SplittingOptions, 'parallelism'> {
  readonly path: string;
  /** `null`: the input is listed once. */
  readonly watchIntervalMs: number | null;
}

export class FileEnumerator implements SplitEnumerator<FileSplit, FileEnumeratorState> {
  readonly #context: SplitEnumeratorContext<FileSplit>;
  readonly #options: FileEnumeratorOptions;
  readonly #isRestored: boolean;
  readonly #pending: FileSplit[];
  readonly #found: Set<string>;
  /** Subtasks that asked when there was nothing for them, in the order they asked. */
  readonly #asking = new Set<number>();
  #timer: Timer | null = null;
  #isClosed = false;

  constructor(
    context: SplitEnumeratorContext<FileSplit>,
    options: FileEnumeratorOptions,
    restored: FileEnumeratorState | undefined,
  ) {
    this.#context = context;
    this.#options = options;
    this.#isRestored = restored !== undefined;
    this.#pending = [...(restored?.pending ?? [])];
    this.#found = new Set(restored?.found);
  }

  async start(): Promise<void> {
    const { watchIntervalMs } = this.#options;
    if (!this.#isRestored) await this.#discover();
    if (watchIntervalMs !== null) this.#watch(this.#isRestored ? 0 : watchIntervalMs);
  }

  handleSplitRequest(subtask: number): void {
    this.#asking.add(subtask);
    this.#assign();
  }

  addReader(subtask: number): void {
    // Whatever its former attempt asked for was for that attempt.
    this.#asking.delete(subtask);
  }

  addSplitsBack(splits: readonly FileSplit[]): void {
    this.#pending.unshift(...splits);
    this.#assign();
  }

  snapshotState(): FileEnumeratorState {
    return { pending: [...this.#pending], found: [...this.#found] };
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #assign(): void {
    for (const subtask of this.#asking) {
      const split = this.#pending.shift();
      if (split !== undefined) this.#context.assignSplits(subtask, [split]);
      else if (this.#options.watchIntervalMs === null) this.#context.signalNoMoreSplits(subtask);
      else return;
      this.#asking.delete(subtask);
    }
  }

  #watch(delayMs: number): void {
    this.#timer = this.#context.clock.schedule(delayMs, 'list input files', () => {
      void this.#discover().then(
        () => {
          if (!this.#isClosed) this.#watch(this.#options.watchIntervalMs ?? delayMs);
        },
        (error: unknown) => {
          if (!this.#isClosed) this.#context.fail(error);
        },
      );
    });
  }

  async #discover(): Promise<void> {
    const { path, watchIntervalMs } = this.#options;
    const files = await findFiles(this.#context.fileSystem, path).catch((error: unknown) => {
      throw asSourceError(path, error);
    });
    if (this.#isClosed) return;
    if (files === null)
      throw sourceUnavailable(
        path,
        `fileSource cannot read ${path}: there is no such file or folder; check the path`,
        { reason: 'missing' },
      );
    if (files.length === 0) this.#reportNothing();
    const { parallelism } = this.#context;
    for (const file of files) {
      if (this.#found.has(file.path)) continue;
      if (watchIntervalMs !== null) this.#found.add(file.path);
      this.#pending.push(...splitFile(file, { ...this.#options, parallelism }));
    }
    this.#assign();
  }

  /** An empty folder is an input without records; said aloud, since it may be a slip. */
  #reportNothing(): void {
    if (this.#options.watchIntervalMs !== null) return;
    const { path } = this.#options;
    this.#context.logger.log('warn', `fileSource found no file in ${path}`, { path });
  }
}
