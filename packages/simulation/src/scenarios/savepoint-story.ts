/**
 * What a user does with savepoints in one schedule: takes one while the job runs, or stops the job
 * with one and starts it again from there, perhaps elsewhere and at another parallelism, as often
 * as it takes. Checks what was promised of the savepoint itself: it stays as it is while it is the
 * user's, and is not needed any more once the run that began from it has a checkpoint of its own.
 */
import type { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import type { StopMode } from '@weir/core/internal/protocol/messages';
import { filesBelow } from '../checks/check-output.ts';
import type { Machine } from '../engine/machine.ts';
import type { ProcessEnd } from '../engine/simulated-process.ts';
import type { Supervisor } from '../engine/supervisor.ts';
import type { OuterSystem } from '../jobs/outer-system.ts';

export interface SavepointPlan {
  /** `null`: the job goes on. */
  readonly stop: StopMode | null;
  /** When the user first asks. */
  readonly at: number;
  readonly claimMode: 'NO_CLAIM' | 'CLAIM';
  /** The folder is moved before the job starts from it. */
  readonly isMoved: boolean;
  /** With NO_CLAIM: the user removes it after the first checkpoint of the run that used it. */
  readonly isRemovedEarly: boolean;
  /** Of the run that starts from it. */
  readonly parallelism: number;
}

interface StoryWorld {
  readonly machine: Machine;
  readonly supervisor: Supervisor;
  readonly outer: Pick<OuterSystem<unknown>, 'unfinished'>;
}

export const SAVEPOINTS = '/savepoints';
/** How long a user waits for an answer, and between two attempts. */
const PATIENCE_MS = 150;

export class SavepointStory {
  readonly #plan: SavepointPlan;
  readonly #machine: Machine;
  readonly #supervisor: Supervisor;
  /** Files of a savepoint that is the user's, as they were when it was complete. */
  #files: ReadonlyMap<string, Uint8Array> | null = null;
  /** Until the run that began from it has a checkpoint. */
  #startedFrom: string | null = null;
  #usedPath: string | null = null;
  #isStopped = false;
  readonly #outer: Pick<OuterSystem<unknown>, 'unfinished'>;
  /** Complete savepoints, and starts from one. */
  taken = 0;
  starts = 0;

  constructor(plan: SavepointPlan, world: StoryWorld) {
    this.#plan = plan;
    this.#machine = world.machine;
    this.#supervisor = world.supervisor;
    this.#outer = world.outer;
  }

  /** The savepoint that the job has taken over from the user. */
  get claimed(): string | null {
    return this.#plan.claimMode === 'CLAIM' ? this.#usedPath : null;
  }

  /** Of the job: whoever goes on from the savepoint has changed it meanwhile. */
  get version(): number {
    return this.starts > 0 ? 2 : 1;
  }

  begin(): void {
    const { observer } = this.#machine;
    this.#supervisor.onEnd = (how) => this.#ended(how);
    const { onCompleted } = observer;
    observer.onCompleted = (checkpointId, directory) => {
      onCompleted(checkpointId, directory);
      if (!directory.startsWith(SAVEPOINTS)) this.#ownCheckpoint();
    };
    this.#askAfter(this.#plan.at);
  }

  /** The job is over. */
  async end(): Promise<void> {
    const { world } = this.#machine;
    for (const [path, bytes] of this.#files ?? []) {
      const now = await contentOf(this.#machine.disk, path);
      world.check(
        now !== null && Buffer.compare(now, bytes) === 0,
        () => `${path} of a savepoint of the user is ${now === null ? 'gone' : 'changed'}`,
      );
    }
  }

  #askAfter(delayMs: number): void {
    this.#machine.world.schedule(null, delayMs, 'user', () => this.#ask());
  }

  #ask(): void {
    const { world } = this.#machine;
    if (this.#isStopped || this.taken > 0 || this.#supervisor.isFinished) return;
    const asked = this.#supervisor.savepoint(this.#plan.stop, SAVEPOINTS);
    if (asked !== null) {
      world.note('user', `savepoint asked for: ${this.#plan.stop ?? 'the job goes on'}`);
      asked.then(
        ({ directory }) => void this.#complete(directory),
        (error: unknown) => world.note('user', `no savepoint: ${String(error)}`),
      );
    }
    this.#askAfter(PATIENCE_MS);
  }

  async #complete(directory: string): Promise<void> {
    this.taken++;
    this.#machine.world.note('user', `savepoint complete in ${directory}`);
    if (this.#plan.stop === null) this.#files = await contentsBelow(this.#machine.disk, directory);
  }

  /** A job that was stopped, or could not finish after its savepoint, goes on from there. */
  #ended({ status, message }: ProcessEnd): void {
    if (this.#plan.stop === null || this.#isStopped) return;
    const stopped = /savepoint.* -s ([^\s,;]+)/.exec(message)?.[1];
    if (stopped === undefined || (status !== 'ALREADY_FINISHED' && status !== 'FAILED')) return;
    this.#isStopped = true;
    this.starts++;
    if (status === 'ALREADY_FINISHED') this.#checkCommitted(stopped);
    const path = this.#plan.isMoved ? this.#moved(stopped) : stopped;
    this.#machine.world.note('user', `goes on from ${path}`);
    this.#supervisor.order = { restorePath: path, parallelism: this.#plan.parallelism };
    this.#startedFrom = path;
    this.#usedPath = path;
    if (this.#plan.claimMode === 'NO_CLAIM') {
      const remember = async (): Promise<void> => {
        this.#files = await contentsBelow(this.#machine.disk, path);
      };
      void remember();
    }
  }

  /** A job that has finished leaves nothing to be committed. */
  #checkCommitted(savepoint: string): void {
    for (const { id, state } of this.#outer.unfinished())
      this.#machine.world.check(
        state !== 'prepared',
        () => `the job was stopped with ${savepoint}, and transaction ${id} is not committed`,
      );
  }

  /** At once, as the user's disk is not that of the schedule. */
  #moved(path: string): string {
    const { disk } = this.#machine;
    const target = '/elsewhere/kept';
    void disk.makeDirectory('/elsewhere');
    void disk.rename(path, target);
    for (const folder of ['/', '/elsewhere', SAVEPOINTS]) void disk.syncDirectory(folder);
    return target;
  }

  #ownCheckpoint(): void {
    const path = this.#startedFrom;
    if (path === null || this.#supervisor.order !== null) return;
    this.#startedFrom = null;
    if (this.#plan.claimMode === 'CLAIM' || !this.#plan.isRemovedEarly) return;
    const remove = async (): Promise<void> => {
      await this.end();
      this.#files = null;
      this.#machine.world.note('user', `removes ${path}`);
      const { disk } = this.#machine;
      for (const file of filesBelow(disk, path)) await disk.remove(file);
      await disk.syncDirectory(path);
    };
    void remove();
  }
}

async function contentsBelow(
  disk: MemoryFileSystem,
  path: string,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const contents = new Map<string, Uint8Array>();
  for (const file of filesBelow(disk, path)) contents.set(file, await disk.readFile(file));
  return contents;
}

async function contentOf(disk: MemoryFileSystem, path: string): Promise<Uint8Array | null> {
  return (await disk.stat(path)) === null ? null : disk.readFile(path);
}
