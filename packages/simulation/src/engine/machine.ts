/**
 * What outlives the processes: the disk, the outer system, the wall clock, the moods that faults
 * change, and the observer that sees every message and every completed checkpoint.
 */
import type { Random } from '@weir/core/internal/base/random';
import { GeneralBatchCodec } from '@weir/core/internal/network/batch-codec';
import { FrameCodec } from '@weir/core/internal/network/frame-codec';
import type { WireMessage } from '@weir/core/internal/network/frame';
import { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import type { ProtocolObserver } from '../checks/protocol-observer.ts';
import type { Life } from '../world/life.ts';
import type { MessageMood } from '../world/message-line.ts';
import { Partitions } from '../world/partitions.ts';
import { SimulatedClock } from '../world/simulated-clock.ts';
import type { ClockPace, WallClock } from '../world/simulated-clock.ts';
import { SimulatedFileSystem } from '../world/simulated-file-system.ts';
import type { DiskMood } from '../world/simulated-file-system.ts';
import type { LinkMood, LinkOptions } from '../world/simulated-link.ts';
import type { World } from '../world/world.ts';

export interface Moods {
  readonly disk: DiskMood;
  readonly link: LinkMood;
  readonly pace: ClockPace;
  readonly linkCapacity: number;
  /** Frames go through the codec between threads, as they do in production. */
  readonly encodesFrames: boolean;
  /** Default: none. */
  readonly shortcuts?: Shortcuts;
}

/** What is left out for the sake of speed; the schedules that leave nothing out prove it right. */
export interface Shortcuts {
  /**
   * What the job compiles to is shared by all attempts and processes, not built anew for each. Only
   * for jobs whose functions keep nothing outside their state.
   */
  readonly sharesPlans: boolean;
  /** Chains make plain calls; no code is generated. */
  readonly plainChains: boolean;
  /** Messages between the JobManager and tasks arrive as they were sent, not copied. */
  readonly sharesMessages?: boolean;
}

export interface MachineOptions {
  readonly world: World;
  readonly moods: Moods;
  readonly observer: (disk: MemoryFileSystem) => ProtocolObserver;
}

export class Machine {
  readonly world: World;
  readonly moods: Moods;
  readonly disk: MemoryFileSystem;
  readonly wall: WallClock = { offsetMs: 0 };
  readonly observer: ProtocolObserver;
  readonly messages: MessageMood = { loss: 0, duplication: 0, lateness: 0 };
  readonly partitions: Partitions = new Partitions();
  readonly #crashes: Random;
  /** By slot, how much slower its disk is. */
  readonly #slowSlots = new Map<number, number>();

  constructor({ world, moods, observer }: MachineOptions) {
    this.world = world;
    this.moods = moods;
    this.disk = new MemoryFileSystem(() => 1_700_000_000_000 + Math.floor(world.now));
    this.observer = observer(this.disk);
    this.#crashes = world.random('power');
  }

  clockOf(life: Life): SimulatedClock {
    return new SimulatedClock(this.world, life, { wall: this.wall, pace: this.moods.pace });
  }

  /** `slot`: of the thread that it is for; not given: the process itself. */
  fileSystemOf(life: Life, slot?: number): SimulatedFileSystem {
    const { disk, moods } = this;
    return new SimulatedFileSystem(this.world, life, {
      disk,
      mood: moods.disk,
      slowness: () => (slot === undefined ? 1 : (this.#slowSlots.get(slot) ?? 1)),
    });
  }

  /** Until the result is called. */
  slowDisk(slot: number, factor: number): () => void {
    this.#slowSlots.set(slot, factor);
    return () => this.#slowSlots.delete(slot);
  }

  linkOptions(name: string): LinkOptions {
    const { moods, world } = this;
    const codec = new FrameCodec(new GeneralBatchCodec());
    const random = world.random(`link ${name}`);
    return {
      mood: moods.link,
      random,
      // No slower than checkpoints can bear.
      slowness: Math.min([1, 1, 10, 100][random.int(4)] as number, 20 / moods.link.latencyMs),
      capacity: moods.linkCapacity,
      partitions: this.partitions,
      copy: {
        copy: (message: WireMessage): WireMessage => {
          if (!moods.encodesFrames) return message;
          const { header, payload } = codec.encode(message);
          const bytes = payload === null ? header : Buffer.concat([header, payload]);
          return codec.decode(new Uint8Array(bytes));
        },
      },
    };
  }

  /** Power failure: what was not synced is lost, in part or as a whole. */
  powerFailure(): void {
    this.disk.crash(this.#crashes.int(4) === 0 ? undefined : this.#crashes);
  }
}
