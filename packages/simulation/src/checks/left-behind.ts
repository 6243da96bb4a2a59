/**
 * Whether checkpoints are removed while the job runs, once nobody needs them, but for a few that
 * are being removed. A crash, or a disk that fails, may leave some behind; the next run removes
 * those, so only what comes after it counts.
 */
import type { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import type { Fault, FaultType } from '../faults/fault-plan.ts';
import type { World } from '../world/world.ts';

/** With these, removing files may fail, or nobody may be left to do it. */
const MESSY: ReadonlySet<FaultType> = new Set([
  'kill',
  'powerFailure',
  'pause',
  'secondRun',
  'diskErrors',
  'lostAnswers',
  'diskFull',
  'bitFlips',
  'messages',
]);

/** Being removed at once, by the most concurrent checkpoints that are drawn. */
const UNDER_WAY_MAX = 8;

export interface LeftBehindOptions {
  readonly world: World;
  readonly disk: MemoryFileSystem;
  readonly faults: readonly Fault[];
  /** Where the job has its checkpoints, with or without a folder of its own. */
  readonly directory: string;
  readonly retainedMax: number;
}

export class LeftBehind {
  readonly #options: LeftBehindOptions;
  readonly #messyUntil: number;

  constructor(options: LeftBehindOptions) {
    this.#options = options;
    const ends = options.faults
      .filter(({ type }) => MESSY.has(type))
      .map((fault) => fault.at + ('forMs' in fault ? fault.forMs : 0));
    this.#messyUntil = Math.max(-1, ...ends);
  }

  /** When a checkpoint has completed in a run that began then. */
  async whileRunning(runStartedAt: number): Promise<void> {
    if (runStartedAt <= this.#messyUntil) return;
    const { world, retainedMax } = this.#options;
    const published = (await this.#checkpoints()).length;
    world.check(
      published <= retainedMax + UNDER_WAY_MAX,
      () => `${published} checkpoints are kept, at most ${retainedMax} should be`,
    );
  }

  async #checkpoints(): Promise<readonly string[]> {
    const { disk, directory } = this.#options;
    const names = await disk.list(directory);
    const below = await Promise.all(
      names
        .filter((name) => !name.startsWith('chk-'))
        .map((name) => disk.list(`${directory}/${name}`)),
    );
    return [...names, ...below.flat()].filter((name) => name.startsWith('chk-'));
  }
}
