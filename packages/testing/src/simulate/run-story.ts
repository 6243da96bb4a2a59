/**
 * What happened in a run, in words of somebody who knows his job and not the engine: starts and
 * from where, complete checkpoints, faults, the end.
 */
import type { ErrorInfo } from '@weir/core/internal/base/errors';
import type { RunState } from '@weir/core/internal/jobmanager/run-state';
import type { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import { ProtocolObserver } from '@weir/simulation/checks/protocol-observer';
import type { Fault } from '@weir/simulation/faults/fault-plan';
import type { World } from '@weir/simulation/world/world';
import { placeIn } from './ambient.ts';
import { faultWords } from './fault-words.ts';
import type { Inputs } from './replace-ends.ts';

interface Line {
  readonly at: number;
  readonly text: string;
  readonly isCheckpoint: boolean;
}

export class RunStory {
  readonly #world: World;
  readonly #recordCount: number;
  /** By source and split, how far it was read by the attempt that reads it now. */
  readonly #read = new Map<string, number>();
  readonly #lines: Line[] = [];
  /** Where a function of the job last threw, `job.ts:14`. */
  thrownAt: string | null = null;
  #starts = 0;
  #lastComplete = 0;

  constructor(world: World, inputs: Inputs) {
    this.#world = world;
    this.#recordCount = [...inputs.values()].flat().reduce((sum, split) => sum + split.length, 0);
  }

  /** Watches the engine, which it also checks. */
  observer(disk: MemoryFileSystem): ProtocolObserver {
    return new TellingObserver(this.#world, disk, this);
  }

  read(source: string, split: number, next: number): void {
    this.#read.set(`${source} ${split}`, next);
  }

  addFaults(faults: readonly Fault[], healAt: number): void {
    for (const fault of faults)
      // Told when it happens, since it tells how far the job had come.
      this.#world.schedule(null, fault.at, 'story', () => {
        const forMs = 'forMs' in fault ? Math.min(fault.forMs, Math.max(0, healAt - fault.at)) : 0;
        this.add(`${faultWords(fault, forMs)} (${this.#progress()})`);
      });
  }

  started(state: Extract<RunState, { type: 'run' }>): void {
    const checkpoint = state.initial?.metadata.checkpointId ?? 0;
    // A process that dies before it tells the tasks leaves a complete one that nobody heard of.
    const isNews = checkpoint > this.#lastComplete ? ', which was complete just before' : '';
    const from = checkpoint === 0 ? 'from the beginning' : `from checkpoint ${checkpoint}${isNews}`;
    const how = this.#starts++ === 0 ? 'started' : 'started again';
    this.add(`${how} with parallelism ${state.slotCount}, ${from}`);
  }

  checkpointCompleted(checkpointId: number): void {
    this.#lastComplete = checkpointId;
    this.add(`checkpoint ${checkpointId} complete (${this.#progress()})`, true);
  }

  add(text: string, isCheckpoint = false): void {
    this.#lines.push({ at: this.#world.now, text, isCheckpoint });
  }

  /** Of checkpoints one after the other the last: it is the one that counts. */
  lines(): readonly string[] {
    return this.#lines
      .filter(({ isCheckpoint }, index) => !isCheckpoint || !this.#lines[index + 1]?.isCheckpoint)
      .map(({ at, text }) => `${`${Math.round(at)} ms`.padStart(8)}  ${text}`);
  }

  #progress(): string {
    if (this.#starts === 0) return 'before the job ran';
    const read = [...this.#read.values()].reduce((sum, next) => sum + next, 0);
    return `${read} of ${this.#recordCount} records read`;
  }
}

/** The error as the engine raised it: what a function of the job threw is no fault of it. */
function withoutThrown(error: ErrorInfo): ErrorInfo {
  const causes = error.kind === 'function' ? [] : error.causes.map(withoutThrown);
  return { ...error, causes };
}

/** File and line of what a function of the job threw; `null` where nothing says so. */
function thrownAt(error: ErrorInfo, isOfJob = false): string | null {
  const [cause] = error.causes;
  if (cause !== undefined) return thrownAt(cause, error.kind === 'function');
  const frame = error.stack.split('\n').find((line) => line.trimStart().startsWith('at ')) ?? '';
  return isOfJob && !frame.includes('(node:') && !frame.includes('at node:')
    ? placeIn(frame)
    : null;
}

class TellingObserver extends ProtocolObserver {
  readonly #story: RunStory;

  constructor(world: World, disk: MemoryFileSystem, story: RunStory) {
    super(world, disk);
    this.#story = story;
  }

  override runStarted(state: Extract<RunState, { type: 'run' }>): void {
    super.runStarted(state);
    this.#story.started(state);
  }

  override failed(epoch: number, error: ErrorInfo): void {
    this.#story.thrownAt = thrownAt(error);
    super.failed(epoch, withoutThrown(error));
  }

  override checkpointCompleted(epoch: number, checkpointId: number, directory: string): void {
    super.checkpointCompleted(epoch, checkpointId, directory);
    this.#story.checkpointCompleted(checkpointId);
  }
}
