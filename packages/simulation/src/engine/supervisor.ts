/**
 * Starts the job's process again whenever it ended without finishing the job, as an operator or
 * systemd would; at times with another parallelism. Knows which processes are alive, which is all
 * that the engine may ask about its owners.
 */
import type { Job } from '@weir/core/internal/api/job';
import type { Configuration } from '@weir/core/internal/base/configuration';
import type { Random } from '@weir/core/internal/base/random';
import type { JobInputs } from '@weir/core/internal/jobmanager/prepare-run';
import type { StopMode } from '@weir/core/internal/protocol/messages';
import type { JobOwner } from '@weir/core/internal/storage/job-store';
import { Life } from '../world/life.ts';
import type { Machine } from './machine.ts';
import { PreparedJobs } from './prepared-jobs.ts';
import { SimulatedProcess } from './simulated-process.ts';
import type { ProcessEnd } from './simulated-process.ts';

export interface SupervisorOptions {
  readonly machine: Machine;
  readonly job: Job;
  /** Arguments and ends of a user's job. */
  readonly inputs?: Pick<JobInputs, 'arguments' | 'changeGraph'>;
  readonly configuration: Configuration;
  /** Of the runs one after the other; the last one is that of all later ones. */
  readonly parallelisms: readonly number[];
  readonly random: Random;
}

/** What the next start is to begin from, given by whoever stopped the job. */
export interface StartOrder {
  /** `-s`. */
  readonly restorePath: string;
  readonly parallelism: number;
}

interface Running {
  readonly process: SimulatedProcess;
  readonly token: string;
  readonly parallelism: number;
  looksDead: boolean;
}

/** Mean of the first pause before another start; it doubles, up to the longest. */
const RESTART_MS = 20;
const RESTART_MS_MAX = 5000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #jobs: PreparedJobs;
  readonly #running: Running[] = [];
  #starts = 0;
  #hasFinished = false;
  #isFinished = false;
  kills = 0;
  powerFailures = 0;
  lastEnd: ProcessEnd | null = null;
  /** For starts until one of them leads the job; its parallelism is that of those after it too. */
  order: StartOrder | null = null;
  #orderedParallelism: number | null = null;
  /** Of the last process that led the job. */
  #usedParallelism: number | null = null;
  /** Told of every end before anything is made of it: may give an order. */
  onEnd: (how: ProcessEnd) => void = () => undefined;

  constructor(options: SupervisorOptions) {
    const { machine, job, inputs, configuration } = options;
    this.#options = options;
    this.#jobs = new PreparedJobs(
      job,
      { arguments: [], ...inputs, configuration },
      machine.moods.shortcuts?.sharesPlans === true,
    );
  }

  /** The job has finished, and a start after that says so. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  get starts(): number {
    return this.#starts;
  }

  /** Processes that still run, each with what it is doing. */
  describe(): string {
    return this.#running.map(({ process }) => `${process.life.name} ${process.status}`).join(', ');
  }

  /** What the tasks of all processes wait for. */
  describeWaiting(): readonly string[] {
    return this.#running.flatMap(({ process }) => process.describeWaiting());
  }

  start(): void {
    if (this.#isFinished) return;
    const { machine, inputs, parallelisms, random } = this.#options;
    const { order } = this;
    this.#orderedParallelism = order?.parallelism ?? this.#orderedParallelism;
    const { world } = machine;
    const number = this.#starts++;
    const life = new Life(`p${number}`, world.now);
    const token = random.hex(16);
    const parallelism =
      this.#orderedParallelism ?? parallelisms[Math.min(number, parallelisms.length - 1)] ?? 1;
    const process = new SimulatedProcess({
      machine,
      life,
      arguments: inputs?.arguments ?? [],
      prepare: () => this.#jobs.prepare(parallelism),
      rebuild: (known) => this.#jobs.rebuild(parallelism, known),
      ...(order === null ? {} : { restorePath: order.restorePath }),
      leads: () => {
        this.#usedParallelism = parallelism;
        if (this.order === order) this.order = null;
      },
      ownership: {
        self: { pid: 100 + number, host: 'simulated', startedAt: Math.floor(world.now), token },
        livingOwner: (owner) => Promise.resolve(this.#livingOwner(owner, token)),
        holdLease: () => () => undefined,
      },
      ended: (how) => this.#ended(running, how),
    });
    const running: Running = { process, token, parallelism, looksDead: false };
    this.#running.push(running);
    world.schedule(life, 0, `start with parallelism ${parallelism}`, () => process.start());
  }

  /** Asks the oldest process; `null`: none leads the job at the moment. */
  savepoint(stop: StopMode | null, directory: string): Promise<{ directory: string }> | null {
    return this.#running[0]?.process.savepoint(stop, directory) ?? null;
  }

  kill(): void {
    const running = this.#running[0];
    if (running === undefined) return;
    this.kills++;
    this.#remove(running);
    this.#restartLater();
  }

  powerFailure(): void {
    this.kills++;
    this.powerFailures++;
    for (const running of this.#running.slice()) this.#remove(running);
    this.#options.machine.powerFailure();
    this.#restartLater();
  }

  killSlot(slot: number): void {
    const process = this.#running[0]?.process;
    if (process === undefined || process.slotCount === 0) return;
    process.killSlot(slot % process.slotCount);
  }

  suspend(): void {
    this.#running[0]?.process.suspend();
  }

  pause(forMs: number, looksDead: boolean): void {
    const running = this.#running[0];
    if (running === undefined) return;
    running.process.life.pause(this.#options.machine.world.now + forMs);
    if (!looksDead) return;
    running.looksDead = true;
    this.#restartLater();
  }

  startSecond(): void {
    this.start();
  }

  #livingOwner(owner: JobOwner | null, self: string): string | null {
    if (owner === null || owner.token === self) return null;
    const alive = this.#running.find(({ token }) => token === owner.token);
    return alive === undefined || alive.looksDead ? null : alive.process.life.name;
  }

  #remove(running: Running): void {
    running.process.life.end();
    this.#running.splice(this.#running.indexOf(running), 1);
  }

  #ended(running: Running, how: ProcessEnd): void {
    const { world } = this.#options.machine;
    world.note(running.process.life.name, `ended ${how.status} ${how.message}`);
    this.lastEnd = how;
    this.#remove(running);
    this.#obey(running, how);
    this.onEnd(how);
    if (this.order !== null) {
      this.#hasFinished = false;
      return this.#restartLater();
    }
    if (how.status === 'ALREADY_FINISHED') {
      this.#isFinished = true;
      return;
    }
    if (this.#hasFinished && how.status === 'FINISHED')
      world.violated('the job had finished, and ran once more');
    this.#hasFinished ||= how.status === 'FINISHED';
    this.#restartLater();
  }

  /** Another parallelism chains what had finished to what had not: back to the one before. */
  #obey({ parallelism }: Running, { status, message }: ProcessEnd): void {
    if (status !== 'REFUSED' || !message.endsWith('startNewChain()')) return;
    if (parallelism !== this.#usedParallelism) this.#orderedParallelism = this.#usedParallelism;
  }

  /** When nothing runs by then that looks alive. */
  #restartLater(): void {
    const { machine, random } = this.#options;
    const pauseMs = Math.min(RESTART_MS_MAX, RESTART_MS * 2 ** Math.max(0, this.#starts - 10));
    machine.world.schedule(null, random.next() * 2 * pauseMs, 'supervisor', () => {
      if (this.#running.every(({ looksDead }) => looksDead)) this.start();
    });
  }
}
