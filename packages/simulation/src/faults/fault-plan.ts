/**
 * The faults of one schedule, as data: drawn from the seed before anything runs, so that a shrinker
 * can leave some out while everything else stays. Each seed switches on a random part of them.
 */
import type { Random } from '@weir/core/internal/base/random';
import type { Direction } from '../world/partitions.ts';

export type Fault =
  /** SIGKILL: what was written stays, synced or not. */
  | { readonly type: 'kill'; readonly at: number }
  | { readonly type: 'powerFailure'; readonly at: number }
  | { readonly type: 'killSlot'; readonly at: number; readonly slot: number }
  /** SIGTERM. */
  | { readonly type: 'suspend'; readonly at: number }
  /** The process stands still; another may take over meanwhile. */
  | {
      readonly type: 'pause';
      readonly at: number;
      readonly forMs: number;
      readonly looksDead: boolean;
    }
  /** Somebody starts the job once more while it runs. */
  | { readonly type: 'secondRun'; readonly at: number }
  | { readonly type: 'clog'; readonly at: number; readonly forMs: number }
  /** A thread hears nothing, or is not heard. */
  | {
      readonly type: 'partition';
      readonly at: number;
      readonly forMs: number;
      readonly slot: number;
      readonly direction: Direction;
    }
  /** Messages about checkpoints are lost, come twice, come late; chances of each. */
  | {
      readonly type: 'messages';
      readonly at: number;
      readonly forMs: number;
      readonly loss: number;
      readonly duplication: number;
      readonly lateness: number;
    }
  | {
      readonly type: 'slowDisk';
      readonly at: number;
      readonly forMs: number;
      readonly factor: number;
      /** Of this thread's disk only. */
      readonly slot?: number;
    }
  | {
      readonly type: 'diskErrors';
      readonly at: number;
      readonly forMs: number;
      readonly chance: number;
    }
  | {
      readonly type: 'lostAnswers';
      readonly at: number;
      readonly forMs: number;
      readonly chance: number;
    }
  | {
      readonly type: 'bitFlips';
      readonly at: number;
      readonly forMs: number;
      readonly chance: number;
    }
  | { readonly type: 'diskFull'; readonly at: number; readonly forMs: number }
  | { readonly type: 'outerDown'; readonly at: number; readonly forMs: number }
  | {
      readonly type: 'outerErrors';
      readonly at: number;
      readonly forMs: number;
      readonly chance: number;
    }
  | {
      readonly type: 'commitErrors';
      readonly at: number;
      readonly forMs: number;
      readonly chance: number;
    }
  | { readonly type: 'outerCrash'; readonly at: number }
  | { readonly type: 'wallClock'; readonly at: number; readonly byMs: number }
  | {
      readonly type: 'fragile';
      readonly at: number;
      readonly forMs: number;
      readonly chance: number;
    };

export type FaultType = Fault['type'];

type Draw = (random: Random, at: number) => Fault;

/** Mostly small, at times always: then nothing helps until it is over. */
const chance = (random: Random): number => (random.int(8) === 0 ? 1 : 0.002 * 2 ** random.int(5));
/** Mostly a few operations; at times all, longer than anybody tries again. */
const storm = (random: Random): { readonly forMs: number; readonly chance: number } =>
  random.int(6) === 0
    ? { forMs: span(random) * 4, chance: 1 }
    : { forMs: span(random), chance: chance(random) };
const messageChance = (random: Random): number =>
  random.int(2) === 0 ? 0 : 0.05 * 2 ** random.int(4);
const span = (random: Random): number => 20 + random.int(400);

const DRAWS: Readonly<Record<FaultType, Draw>> = {
  kill: (_random, at) => ({ type: 'kill', at }),
  powerFailure: (_random, at) => ({ type: 'powerFailure', at }),
  killSlot: (random, at) => ({ type: 'killSlot', at, slot: random.int(4) }),
  suspend: (_random, at) => ({ type: 'suspend', at }),
  pause: (random, at) => ({
    type: 'pause',
    at,
    forMs: span(random) * 3,
    looksDead: random.int(2) === 0,
  }),
  secondRun: (_random, at) => ({ type: 'secondRun', at }),
  clog: (random, at) => ({ type: 'clog', at, forMs: span(random) }),
  partition: (random, at) => ({
    type: 'partition',
    at,
    // Often so long that checkpoints expire meanwhile.
    forMs: span(random) * (random.int(2) === 0 ? 1 : 8),
    slot: random.int(4),
    direction: random.int(2) === 0 ? 'to' : 'from',
  }),
  messages: (random, at) => ({
    type: 'messages',
    at,
    forMs: span(random) * 2,
    loss: messageChance(random),
    duplication: messageChance(random),
    lateness: messageChance(random),
  }),
  slowDisk: (random, at) => ({
    type: 'slowDisk',
    at,
    forMs: span(random),
    factor: 10 + random.int(200),
  }),
  diskErrors: (random, at) => ({ type: 'diskErrors', at, ...storm(random) }),
  lostAnswers: (random, at) => ({ type: 'lostAnswers', at, ...storm(random) }),
  bitFlips: (random, at) => ({ type: 'bitFlips', at, forMs: span(random), chance: chance(random) }),
  diskFull: (random, at) => ({ type: 'diskFull', at, forMs: span(random) }),
  outerDown: (random, at) => ({ type: 'outerDown', at, forMs: span(random) }),
  outerErrors: (random, at) => ({
    type: 'outerErrors',
    at,
    forMs: span(random),
    chance: chance(random) * 4,
  }),
  commitErrors: (random, at) => ({
    type: 'commitErrors',
    at,
    forMs: span(random) * 4,
    chance: 0.2 + 0.8 * random.next(),
  }),
  outerCrash: (_random, at) => ({ type: 'outerCrash', at }),
  wallClock: (random, at) => ({
    type: 'wallClock',
    at,
    byMs: (random.int(2) * 2 - 1) * random.int(5000),
  }),
  fragile: (random, at) => ({
    type: 'fragile',
    at,
    forMs: span(random),
    chance: chance(random) * 4,
  }),
};

export const FAULT_TYPES: readonly FaultType[] = Object.keys(DRAWS) as FaultType[];

/** After these something goes back to a checkpoint, which is where most mistakes show. */
const RESTARTING: ReadonlySet<string> = new Set(['kill', 'powerFailure', 'killSlot', 'fragile']);

/** Faults until `healAt`, in order of time; of some of the kinds that are allowed. */
export function drawFaults(
  random: Random,
  options: { readonly healAt: number; readonly allowed: readonly FaultType[] },
): readonly Fault[] {
  const { healAt, allowed } = options;
  const most = [1, 2, 4][random.int(3)] as number;
  const faults: Fault[] = [];
  for (const [type, draw] of Object.entries(DRAWS)) {
    const isDrawn = random.int(10) < (RESTARTING.has(type) ? 6 : 3);
    if (!allowed.includes(type as FaultType) || !isDrawn) continue;
    const count = 1 + random.int(most);
    for (let i = 0; i < count; i++) {
      const part = RESTARTING.has(type) ? Math.max(random.next(), random.next()) : random.next();
      faults.push(draw(random, Math.floor(part * healAt)));
    }
  }
  return faults.toSorted((a, b) => a.at - b.at);
}
