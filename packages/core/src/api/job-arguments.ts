/**
 * The arguments of a job: what stands behind the job file on the command line, or `args` of
 * `runJob`. Read by name and type while the graph is built; what was given but never read is known
 * afterwards, so that a misspelt argument does not go unnoticed.
 */
import { DURATION_FORMS, parseDuration, tryParseDuration } from '../base/duration.ts';
import type { Duration } from '../base/duration.ts';
import { JobSubmissionError } from '../base/errors.ts';
import { maskValue } from '../base/mask-secrets.ts';
import { didYouMean } from '../base/nearest.ts';
import { locationOfCaller } from './location.ts';
import type { MapLocation } from './location.ts';

/** A value as given; a list where the argument was repeated. */
export type ArgumentValue = string | number | boolean | readonly (string | number)[];
/** Arguments by name, without dashes: plain data, stored with the run. */
export type ArgumentValues = Readonly<Record<string, ArgumentValue>>;

type ReadMethod = 'string' | 'number' | 'integer' | 'boolean' | 'duration' | 'list';

/** Reads one kind of argument; `undefined`: the value is not of that kind. */
interface Kind<V> {
  /** The method of JobArguments that reads it. */
  readonly method: ReadMethod;
  readonly expected: string;
  parse(value: ArgumentValue): V | undefined;
}

export class JobArguments {
  readonly #values: ArgumentValues;
  readonly #mapLocation: MapLocation | undefined;
  readonly #read = new Set<string>();

  constructor(values: ArgumentValues, mapLocation?: MapLocation) {
    this.#values = values;
    this.#mapLocation = mapLocation;
  }

  /**
   * A text. Without `fallback` the argument is required; a fallback of `null` makes it optional.
   * @throws JobSubmissionError ARGUMENT_INVALID when it is required and missing.
   */
  string(name: string): string;
  string<D extends string | null>(name: string, fallback: D): string | D;
  string(name: string, fallback?: string | null): string | null {
    return this.#get(name, TEXT, fallback);
  }

  /**
   * A whole number; `fallback` as in `string`.
   * @throws JobSubmissionError ARGUMENT_INVALID when it is missing or not a whole number.
   */
  integer(name: string): number;
  integer<D extends number | null>(name: string, fallback: D): number | D;
  integer(name: string, fallback?: number | null): number | null {
    return this.#get(name, INTEGER, fallback);
  }

  /**
   * A number; `fallback` as in `string`.
   * @throws JobSubmissionError ARGUMENT_INVALID when it is missing or not a number.
   */
  number(name: string): number;
  number<D extends number | null>(name: string, fallback: D): number | D;
  number(name: string, fallback?: number | null): number | null {
    return this.#get(name, NUMBER, fallback);
  }

  /** A switch: `--name` or `--name=true`. Absent it is `fallback`, by default false. */
  boolean(name: string, fallback = false): boolean {
    return this.#get(name, BOOLEAN, fallback);
  }

  /**
   * A duration such as `10s`, in milliseconds; `fallback` as in `string`.
   * @throws JobSubmissionError ARGUMENT_INVALID when it is missing or not a duration.
   */
  duration(name: string): number;
  duration(name: string, fallback: Duration): number;
  duration(name: string, fallback: null): number | null;
  duration(name: string, fallback?: Duration | null): number | null {
    const ms = typeof fallback === 'string' ? parseDuration(fallback) : fallback;
    return this.#get(name, DURATION, ms);
  }

  /** Texts: the argument repeated, or separated by commas. `fallback` as in `string`. */
  list(name: string): readonly string[];
  list<D extends readonly string[] | null>(name: string, fallback: D): readonly string[] | D;
  list(name: string, fallback?: readonly string[] | null): readonly string[] | null {
    return this.#get(name, LIST, fallback);
  }

  /** Whether the argument was given. Counts as reading it. */
  has(name: string): boolean {
    this.#read.add(name);
    return Object.hasOwn(this.#values, name);
  }

  /** Names the job asked for, given or not. */
  get namesRead(): readonly string[] {
    return [...this.#read];
  }

  /** Names given but never read. */
  get namesUnread(): readonly string[] {
    return Object.keys(this.#values).filter((name) => !this.#read.has(name));
  }

  #get<V>(name: string, kind: Kind<V>, fallback: V | undefined): V {
    if (this.has(name)) {
      const given = this.#values[name]!;
      const value = kind.parse(given);
      if (value !== undefined) return value;
      const shown = JSON.stringify(given, (_, it: unknown) =>
        typeof it === 'string' ? maskValue(it, name) : it,
      );
      throw new JobSubmissionError(
        `--${name}: ${shown} is not ${kind.expected}${this.#place(kind.method)}`,
        { code: 'ARGUMENT_INVALID', details: { name } },
      );
    }
    if (fallback !== undefined) return fallback;
    const suggestion = didYouMean(name, this.namesUnread);
    throw new JobSubmissionError(
      `the job needs the argument --${name}, ${kind.expected}${this.#place(kind.method)}; ` +
        `give it after the job file: --${name} VALUE${suggestion} (in a program or a test: ` +
        `args: { ${name}: … })`,
      { code: 'ARGUMENT_INVALID', details: { name } },
    );
  }

  #place(method: ReadMethod): string {
    const location = locationOfCaller(this, method, this.#mapLocation);
    return location === null ? '' : ` (${location})`;
  }
}

/**
 * Reads `--name value`, `--name=value` and `--switch`; one dash does as well. Given more than once,
 * an argument is a list.
 * @throws JobSubmissionError ARGUMENT_INVALID for a value without a name.
 */
export function parseJobArguments(words: readonly string[]): ArgumentValues {
  const values: Record<string, ArgumentValue> = {};
  for (let index = 0; index < words.length; index++) {
    const word = words[index]!;
    const match = /^--?([A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(word);
    if (match === null) {
      const shown = maskValue(word);
      throw new JobSubmissionError(
        `job argument "${shown}": arguments are given by name, as --name value`,
        { code: 'ARGUMENT_INVALID', details: { word: shown } },
      );
    }
    const name = match[1]!;
    let value: string | true = match[2] ?? true;
    if (value === true && isValue(words[index + 1])) value = words[++index]!;
    values[name] = Object.hasOwn(values, name) ? appended(values[name]!, String(value)) : value;
  }
  return values;
}

/** Arguments as they would stand on the command line: what is stored with the run. */
export function argumentWords(args: ArgumentValues): readonly string[] {
  return Object.entries(args).flatMap(([name, value]) => {
    if (typeof value === 'object') return value.map((item) => `--${name}=${item}`);
    return value === true ? [`--${name}`] : [`--${name}=${String(value)}`];
  });
}

function isValue(word: string | undefined): boolean {
  return word !== undefined && !/^--?[A-Za-z]/.test(word);
}

function appended(before: ArgumentValue, value: string): ArgumentValue {
  return [...(Array.isArray(before) ? (before as string[]) : [String(before)]), value];
}

const TEXT: Kind<string | null> = {
  method: 'string',
  expected: 'a text',
  parse: (value) =>
    typeof value === 'string' || typeof value === 'number' ? String(value) : undefined,
};
const NUMBER: Kind<number | null> = {
  method: 'number',
  expected: 'a number',
  parse: (value) => {
    if (typeof value === 'number') return value;
    if (typeof value !== 'string' || value.trim() === '') return undefined;
    return Number.isFinite(Number(value)) ? Number(value) : undefined;
  },
};
const INTEGER: Kind<number | null> = {
  method: 'integer',
  expected: 'a whole number',
  parse: (value) => {
    const number = NUMBER.parse(value);
    return Number.isSafeInteger(number) ? number : undefined;
  },
};
const BOOLEAN: Kind<boolean> = {
  method: 'boolean',
  expected: 'true or false',
  parse: (value) => {
    if (typeof value === 'boolean') return value;
    return value === 'true' ? true : value === 'false' ? false : undefined;
  },
};
const DURATION: Kind<number | null> = {
  method: 'duration',
  expected: DURATION_FORMS,
  parse: (value) => {
    if (typeof value !== 'string' && typeof value !== 'number') return undefined;
    return tryParseDuration(value) ?? undefined;
  },
};
const LIST: Kind<readonly string[] | null> = {
  method: 'list',
  expected: 'a list of texts, separated by commas',
  parse: (value) => {
    if (Array.isArray(value)) return value.map(String);
    if (typeof value === 'boolean') return undefined;
    return String(value)
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  },
};
