/**
 * Refuses options of `simulate` that it could only misunderstand: a misspelt name or kind of fault,
 * or no seeds at all, would make a test that passes and proves nothing.
 */
import { ConfigurationError } from '@weir/core';
import { FAULT_KINDS } from './fault-words.ts';
import type { SimulateOptions } from './simulate-options.ts';

/** Each subtask costs memory for its channels to all others. */
const PARALLELISM_MAX = 64;

type Check = (value: unknown) => string | null;

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const wholeNumber =
  (least: number, most: number, hint: string): Check =>
  (value) =>
    Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most ? null : hint;

const object: Check = (value) => (isObject(value) ? null : 'give an object');
const anyValue: Check = () => null;

const seedCount = wholeNumber(1, Number.MAX_SAFE_INTEGER, 'give a whole number, from 1');
const seedOf = wholeNumber(0, Number.MAX_SAFE_INTEGER, 'give the number that a failure named');
const subtasks = wholeNumber(
  1,
  PARALLELISM_MAX,
  `give a whole number from 1 to ${PARALLELISM_MAX}, or a list of such`,
);

/** Every value of an object, by its name. */
const each =
  (hint: string, isRight: (value: unknown) => boolean): Check =>
  (value) => {
    if (!isObject(value)) return 'give an object: { name: … }';
    const wrong = Object.entries(value).find(([, one]) => !isRight(one));
    return wrong === undefined ? null : `"${wrong[0]}" ${hint}`;
  };

function isInput(value: unknown): boolean {
  if (Array.isArray(value)) return true;
  const splits = isObject(value) && 'splits' in value ? value.splits : null;
  return Array.isArray(splits) && splits.every((split) => Array.isArray(split));
}

const CHECKS: Readonly<Record<keyof SimulateOptions, Check>> = {
  input: each('must be a list of records, or { splits: [[…], […]] }', isInput),
  seeds: seedCount,
  seed: seedOf,
  expect: each('must be a list of records', Array.isArray),
  view: each('must be a function of all records', (value) => typeof value === 'function'),
  args: object,
  config: anyValue,
  parallelism: (value) => {
    const all = [value].flat();
    return all.length === 0
      ? subtasks(null)
      : (all.map(subtasks).find((it) => it !== null) ?? null);
  },
  faults: (value) => {
    const known = FAULT_KINDS.map((kind) => `"${kind}"`).join(', ');
    const isKnown =
      Array.isArray(value) && value.length > 0 && value.every((it) => FAULT_KINDS.includes(it));
    return isKnown ? null : `give a list of some of ${known}`;
  },
  onProgress: (value) => (typeof value === 'function' ? null : 'give a function'),
  signal: anyValue,
};

/** Throws a `ConfigurationError` that names the option, what was given and what may be. */
export function checkOptions(options: SimulateOptions): void {
  for (const [name, value] of Object.entries(options)) {
    const check = (CHECKS as Readonly<Record<string, Check | undefined>>)[name];
    if (check === undefined)
      throw new ConfigurationError(
        `simulate: there is no option "${name}"; there are ${Object.keys(CHECKS).join(', ')}`,
      );
    const hint = value === undefined ? null : check(value);
    if (hint !== null)
      throw new ConfigurationError(
        `simulate: ${name}: ${shownShort(value)} is not allowed; ${hint}`,
      );
  }
}

function shownShort(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return Array.isArray(value) ? `[${value.map(String).join(', ')}]`.slice(0, 80) : 'this object';
}
