/**
 * Runs the job of a group of cells through schedules of kills, and tells what readers of its sinks
 * saw in any of them, beside the level that the planner computes. Without checkpoints a killed job
 * is not begun again, as the engine has it.
 */
import { buildStreamGraph } from '@weir/core/internal/api/build-stream-graph';
import { parseJobArguments } from '@weir/core/internal/api/job-arguments';
import type { Guarantee } from '@weir/core/internal/api/stream-execution-environment';
import { Configuration } from '@weir/core/internal/base/configuration';
import type { Random } from '@weir/core/internal/base/random';
import { planGuarantees } from '@weir/core/internal/graph/guarantee-planner';
import { guaranteeSettings } from '@weir/core/internal/jobmanager/guarantee-settings';
import { ProtocolObserver } from '../checks/protocol-observer.ts';
import { Machine } from '../engine/machine.ts';
import { Supervisor } from '../engine/supervisor.ts';
import { OuterSystem } from '../jobs/outer-system.ts';
import { World } from '../world/world.ts';
import { SINKS } from './cell.ts';
import type { CellGroup, Seen, SinkKind } from './cell.ts';
import { cellJob, keyOf } from './cell-job.ts';
import { cellSink, WINDOW_MS } from './cell-sinks.ts';
import { RECORDS_PER_SPLIT, SPLITS } from './cell-source.ts';
import { CellStore } from './cell-store.ts';
import type { Result } from './cell-store.ts';

export interface CellResult extends CellGroup {
  readonly sink: SinkKind;
  readonly level: Guarantee;
  readonly isPassingInconsistent: boolean;
  /** In some schedule. */
  readonly seen: Seen;
}

/** As many as it takes until every cell has shown all that it may. */
export const CELL_SEEDS: readonly number[] = Array.from({ length: 40 }, (_, index) => index + 1);

const PARALLELISM = 2;
/** Kills fall into this time; the job alone takes about as long. */
const KILLS_WITHIN_MS = 120;
const KILLS_MAX = 3;
/** Of the first so many, mostly one is killed between its results and its confirmation. */
const CONFIRMATIONS = 6;
const LIMIT_MS = 20_000;

/** @throws Error when the engine breaks a promise of its own, or a job does not end. */
export async function runCells(group: CellGroup, seeds: readonly number[]): Promise<CellResult[]> {
  const seen = new Map(SINKS.map((sink) => [sink, { isLost: false, isDoubled: false }]));
  for (const seed of seeds) {
    const schedule = new CellSchedule(group, seed);
    await schedule.run();
    for (const sink of SINKS) {
      const found = schedule.seenIn(sink);
      const known = seen.get(sink) ?? found;
      seen.set(sink, {
        isLost: known.isLost || found.isLost,
        isDoubled: known.isDoubled || found.isDoubled,
      });
    }
  }
  const { paths } = plan(group);
  return SINKS.map((sink) => {
    const path = paths.find((it) => it.sink.uid === sink);
    if (path === undefined) throw new Error(`there is no path to ${sink}`);
    const { level, isPassingInconsistent } = path;
    const found = seen.get(sink) ?? { isLost: false, isDoubled: false };
    return { ...group, sink, level, isPassingInconsistent, seen: found };
  });
}

function configurationOf({ mode }: CellGroup): Configuration {
  const common = {
    'execution.buffer-timeout.interval': 1,
    'pipeline.max-parallelism': 8,
    'parallelism.default': PARALLELISM,
  } as const;
  if (mode === 'OFF') return Configuration.of(common, 'cells');
  return Configuration.of(
    {
      ...common,
      'execution.checkpointing.interval': 12,
      'execution.checkpointing.mode': mode,
      'execution.checkpointing.timeout': 1000,
      'restart-strategy.type': 'fixed-delay',
      'restart-strategy.fixed-delay.attempts': 100,
      'restart-strategy.fixed-delay.delay': 1,
    },
    'cells',
  );
}

function plan(group: CellGroup): ReturnType<typeof planGuarantees> {
  const world = new World({ seed: 1, keepsTrace: false });
  const configuration = configurationOf(group);
  const job = new CellEnds(group, world).job;
  const { graph } = buildStreamGraph(job, { args: parseJobArguments([]), configuration });
  return planGuarantees(graph, guaranteeSettings(configuration));
}

/** The job with its outer systems. */
class CellEnds {
  readonly store: CellStore;
  readonly transactions: OuterSystem<Result>;
  readonly job: ReturnType<typeof cellJob>;

  constructor(group: CellGroup, world: World) {
    this.store = new CellStore(world);
    const mood = { latencyMs: 1, failure: 0, lostAnswer: 0, isDown: false };
    this.transactions = new OuterSystem(world, mood, null);
    this.transactions.allowDuplicates();
    const wires = Array.from({ length: SPLITS }, () => 0);
    const key = (result: Result, converges: boolean): string =>
      keyOf(group.operator, result, converges);
    this.job = cellJob(group, wires, (kind) => cellSink(kind, this.store, this.transactions, key));
  }
}

class CellSchedule {
  readonly #group: CellGroup;
  readonly #world: World;
  readonly #ends: CellEnds;
  readonly #supervisor: Supervisor;

  constructor(group: CellGroup, seed: number) {
    const world = new World({ seed, keepsTrace: false });
    const random = world.random('cells');
    this.#group = group;
    this.#world = world;
    this.#ends = new CellEnds(group, world);
    const machine = new Machine({
      world,
      moods: moodsFrom(random),
      observer: (disk) =>
        new ProtocolObserver(world, disk, { mayBeDamaged: false, hasSavepoints: false }),
    });
    this.#supervisor = new Supervisor({
      machine,
      job: this.#ends.job,
      configuration: configurationOf(group),
      parallelisms: [PARALLELISM],
      random: world.random('supervisor'),
    });
    const unlucky = random.int(CONFIRMATIONS + 1);
    this.#ends.store.onConfirming = (nth) => {
      if (nth !== unlucky) return;
      const inMs = random.next() * WINDOW_MS;
      world.schedule(null, inMs, 'kill', () => this.#supervisor.kill());
    };
    for (let kill = random.int(KILLS_MAX + 1); kill > 0; kill--)
      world.schedule(null, random.next() * KILLS_WITHIN_MS, 'kill', () => this.#supervisor.kill());
  }

  async run(): Promise<void> {
    const supervisor = this.#supervisor;
    supervisor.start();
    const isOver = (): boolean =>
      supervisor.isFinished ||
      (this.#group.mode === 'OFF' && (supervisor.kills > 0 || supervisor.lastEnd !== null));
    const how = await this.#world.run(isOver, LIMIT_MS);
    const { source, mode, operator } = this.#group;
    const problem = this.#world.violation?.message ?? (how === 'over' ? null : `the job is ${how}`);
    if (problem !== null)
      throw new Error(`${source} · ${mode} · ${operator}, seed ${this.#world.seed}: ${problem}`);
  }

  /** Of each record, how many results there are; of a converging count, how far it came. */
  seenIn(sink: SinkKind): Seen {
    const ids = Array.from({ length: SPLITS * RECORDS_PER_SPLIT }, (_, i) => {
      const next = Math.floor(i / SPLITS);
      return { id: `${i % SPLITS}.${next}`, group: `g${next % 2}` };
    });
    const found = this.#resultsOf(sink);
    if (sink === 'idempotent-converging' && this.#group.operator === 'order-dependent') {
      const differences = [...new Set(ids.map(({ group }) => group))].map((group) => {
        const last = found.find((it) => it.group === group)?.n ?? 0;
        return last - ids.filter((it) => it.group === group).length;
      });
      return {
        isLost: differences.some((it) => it < 0),
        isDoubled: differences.some((it) => it > 0),
      };
    }
    const counts = ids.map(({ id }) => found.filter((it) => it.id === id).length);
    return {
      isLost: counts.includes(0),
      isDoubled: counts.some((count) => count > 1),
    };
  }

  #resultsOf(sink: SinkKind): readonly Result[] {
    const { store, transactions } = this.#ends;
    if (sink === 'two-phase-commit') return transactions.committed(sink);
    return store.lists.get(sink) ?? [...(store.values.get(sink)?.values() ?? [])];
  }
}

function moodsFrom(random: Random): ConstructorParameters<typeof Machine>[0]['moods'] {
  return {
    disk: {
      latencyMs: 0.2 + random.next(),
      slowness: 1,
      failure: 0,
      lostAnswer: 0,
      bitFlip: 0,
      isFull: false,
    },
    // Some links are slow, so that barriers are late on one channel and not on the other.
    link: { latencyMs: 0.2 + random.next(), cloggedUntil: 0 },
    pace: { stepMs: 0.1, jitterMs: 0 },
    linkCapacity: 8,
    encodesFrames: false,
  };
}
