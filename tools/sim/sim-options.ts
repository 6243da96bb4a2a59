/**
 * What the command line of `npm run sim` asks for. Whatever would be misunderstood is refused with
 * what to give instead: a seed that is no number would run another schedule than was asked for, and
 * an option of another mode would do nothing.
 */
import { parseArgs } from 'node:util';
import { PLANTED_BUGS } from '../../packages/simulation/src/bugs/planted-bugs.ts';
import { FAULT_TYPES } from '../../packages/simulation/src/faults/fault-plan.ts';
import { SMALL_WORLDS } from '../../packages/simulation/src/scenarios/exhaustive/small-world.ts';
import { SCENARIOS } from '../../packages/simulation/src/scenarios/scenarios.ts';

export const HELP = `npm run sim: runs schedules of the simulation and reports what they found.

  --list                     the scenarios: ways to draw a schedule
  --scenario NAME            default: random
  --seeds N [--first S]      N schedules, from seed S on; default 100, from 1
    [--fresh]                from a seed that this commit begins with
    [--seconds N]            begin none after so long
  --seed N [--trace]         one schedule, with all that happened
  --seed N --shrink          its failure with as few faults as it needs
  --seed N --every-event     once for each of its events, with a fault there
    [--fault TYPE]           kill (default), powerFailure, killSlot, suspend, …
    [--bug NAME]             with this planted bug, and its scenario
  --exhaustive               all choices of a small world, within bounds
    [--deaths N]             of process, machine or thread in one world; default 1
    [--deviations N]         messages late or early, answers lost; default 1
    [--worlds N]             stop after so many
    [--world NAME]           small (default), suspend-claim, drain-no-claim, …
  --bugs [--seeds N]         how many of N seeds find each planted bug; default 500
    [--only TEXT]            of those with this in their name
    [--quick]                each only until a seed has found it
  --threads N                default 2
`;

export type Mode = 'help' | 'list' | 'exhaustive' | 'bugs' | 'seeds' | 'seed';

export interface SimOptions {
  readonly mode: Mode;
  readonly scenario: string;
  readonly seeds: number;
  readonly first: number;
  readonly isFresh: boolean;
  readonly seconds: number;
  readonly seed: number;
  readonly how: 'run' | 'trace' | 'shrink' | 'every-event';
  readonly fault: string;
  readonly bug: string | null;
  readonly deaths: number;
  readonly deviations: number;
  readonly worlds: number;
  readonly world: string;
  readonly only: string;
  readonly isQuick: boolean;
  readonly threads: number;
}

/** A mistake of whoever gave the command; its message says all. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const FLAGS = [
  'help',
  'list',
  'fresh',
  'trace',
  'shrink',
  'every-event',
  'exhaustive',
  'bugs',
  'quick',
];
const TEXTS = ['scenario', 'fault', 'bug', 'world', 'only'];

/** Randomness is seeded by 32 bits: a larger seed would be another one over again. */
const SEED_MAX = 2 ** 32 - 1;
/** Least and most of each number. */
const NUMBERS: Readonly<Record<string, readonly [number, number]>> = {
  seeds: [1, 10_000_000],
  first: [0, SEED_MAX],
  seconds: [1, 1_000_000],
  seed: [0, SEED_MAX],
  deaths: [0, 4],
  deviations: [0, 4],
  worlds: [1, 1_000_000_000],
  threads: [1, 64],
};

/** Modes in which an option means something; those not named here always do. */
const BELONGS: Readonly<Record<string, readonly Mode[]>> = {
  seeds: ['seeds', 'bugs'],
  first: ['seeds', 'bugs'],
  fresh: ['seeds', 'bugs'],
  seconds: ['seeds'],
  scenario: ['seeds', 'seed'],
  trace: ['seed'],
  shrink: ['seed'],
  'every-event': ['seed'],
  fault: ['seed'],
  bug: ['seed'],
  deaths: ['exhaustive'],
  deviations: ['exhaustive'],
  worlds: ['exhaustive'],
  world: ['exhaustive'],
  only: ['bugs'],
  quick: ['bugs'],
  threads: ['seeds', 'bugs'],
};

const NEEDS: Readonly<Record<Mode, string>> = {
  help: '--help',
  list: '--list',
  exhaustive: '--exhaustive',
  bugs: '--bugs',
  seeds: '--seeds N',
  seed: '--seed N',
};

type Values = Readonly<Record<string, string | boolean | undefined>>;

/** Throws a `UsageError` for anything that it does not understand to the letter. */
export function parseSimOptions(args: readonly string[]): SimOptions {
  const values = parsed(args);
  const mode = modeOf(values);
  for (const [name, modes] of Object.entries(BELONGS))
    if (values[name] !== undefined && mode !== 'help' && !modes.includes(mode))
      throw new UsageError(
        `--${name} goes with ${modes.map((one) => NEEDS[one]).join(' or ')}, ` +
          `not with ${NEEDS[mode]}`,
      );
  const number = (name: string, otherwise: number): number => numberOf(values, name, otherwise);
  const choice = (name: string, known: readonly string[], otherwise: string): string => {
    const value = textOf(values, name) ?? otherwise;
    if (known.includes(value)) return value;
    throw new UsageError(`--${name} "${value}" is not known; there are ${known.join(', ')}`);
  };
  const hows = (['trace', 'shrink', 'every-event'] as const).filter(
    (name) => values[name] === true,
  );
  if (hows.length > 1)
    throw new UsageError(`give one of ${hows.map((how) => `--${how}`).join(', ')}`);
  if (values['fault'] !== undefined && hows[0] !== 'every-event')
    throw new UsageError('--fault goes with --seed N --every-event');
  const bug = textOf(values, 'bug');
  const only = textOf(values, 'only') ?? '';
  const bugs = PLANTED_BUGS.map(({ name }) => name);
  if (bug !== undefined && !bugs.includes(bug))
    throw new UsageError(`no planted bug is called "${bug}"; there are:\n  ${bugs.join('\n  ')}`);
  if (!bugs.some((name) => name.includes(only)))
    throw new UsageError(`no planted bug has "${only}" in its name:\n  ${bugs.join('\n  ')}`);
  const seeds = number('seeds', mode === 'bugs' ? 500 : 100);
  const first = number('first', 1);
  if (first + seeds - 1 > SEED_MAX) throw new UsageError(`seeds end at ${SEED_MAX}`);
  return {
    mode,
    scenario: choice(
      'scenario',
      SCENARIOS.map(({ name }) => name),
      'random',
    ),
    seeds,
    first,
    isFresh: values['fresh'] === true,
    seconds: number('seconds', Infinity),
    seed: number('seed', 0),
    how: hows[0] ?? 'run',
    fault: choice('fault', FAULT_TYPES, 'kill'),
    bug: bug ?? null,
    deaths: number('deaths', 1),
    deviations: number('deviations', 1),
    worlds: number('worlds', Infinity),
    world: choice('world', Object.keys(SMALL_WORLDS), 'small'),
    only,
    isQuick: values['quick'] === true,
    threads: number('threads', 2),
  };
}

function parsed(args: readonly string[]): Values {
  const options = Object.fromEntries([
    ...FLAGS.map((name) => [name, { type: 'boolean' as const }]),
    ...[...TEXTS, ...Object.keys(NUMBERS)].map((name) => [name, { type: 'string' as const }]),
  ]);
  try {
    return parseArgs({ args: [...args], options }).values as Values;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const [, name] = /Option '(--[a-z-]+)[^']*' argument/.exec(text) ?? [];
    throw new UsageError(
      name === undefined ? (text.split('\n')[0] ?? text) : `${name} needs a value behind it`,
    );
  }
}

function modeOf(values: Values): Mode {
  const given = (['help', 'list', 'exhaustive', 'bugs'] as const).filter((name) => values[name]);
  if (given.includes('help')) return 'help';
  const all: readonly Mode[] = [
    ...given,
    ...(values['seed'] === undefined ? [] : ['seed' as const]),
  ];
  if (all.length > 1)
    throw new UsageError(`give one of ${all.map((one) => NEEDS[one]).join(', ')}`);
  return all[0] ?? 'seeds';
}

function textOf(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

function numberOf(values: Values, name: string, otherwise: number): number {
  const text = textOf(values, name);
  if (text === undefined) return otherwise;
  const [least = 0, most = 0] = NUMBERS[name] ?? [];
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new UsageError(`--${name} ${text}: give a whole number from ${least} to ${most}`);
}
