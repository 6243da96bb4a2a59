/**
 * Keys, their hash, and key groups. State is stored by key group, and records are routed by it, so
 * every function here is part of the snapshot format: the same key must land in the same group on
 * every machine, in every version (docs/adr/0006-frozen-key-hash.md). The formulas are Flink's.
 * Runs for every record behind a `keyBy`: nothing here allocates.
 */
import { assert } from './assert.ts';
import { UserFunctionError } from './errors.ts';

/** What may be a key: numbers must be finite. */
export type KeyValue = string | number | bigint | boolean | readonly KeyValue[];

/** 2^15: Flink's upper bound of the maximum parallelism. */
export const MAX_PARALLELISM_LIMIT = 32_768;
/** Lower bound of a derived maximum parallelism: leaves a small job room to grow. */
const DERIVED_MAX_PARALLELISM_MIN = 128;

const DOUBLE = new Float64Array(1);
const DOUBLE_HALVES = new Int32Array(DOUBLE.buffer);
const LIMB_BITS = 32n;

/** Hash of a key as a signed 32-bit integer, equal to that of the matching Java value. */
export function hashKey(key: KeyValue): number {
  switch (typeof key) {
    case 'string':
      return hashString(key);
    case 'number':
      return hashNumber(key);
    case 'bigint':
      return hashBigint(key);
    case 'boolean':
      return key ? 1231 : 1237;
    default: {
      let hash = 0;
      for (const element of key) hash = (Math.imul(31, hash) + hashKey(element)) | 0;
      return hash;
    }
  }
}

function hashString(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(31, hash) + text.charCodeAt(i)) | 0;
  return hash;
}

function hashNumber(value: number): number {
  // -0 | 0 is 0 and equal to -0, so the two zeros, which are one key, have one hash.
  const integer = value | 0;
  if (integer === value) return integer;
  DOUBLE[0] = value;
  return (DOUBLE_HALVES[0] ?? 0) ^ (DOUBLE_HALVES[1] ?? 0);
}

/** As Java's BigInteger: over the magnitude's 32-bit limbs, the highest first, then the sign. */
function hashBigint(value: bigint): number {
  return value < 0n ? -hashMagnitude(-value) | 0 : hashMagnitude(value);
}

function hashMagnitude(magnitude: bigint): number {
  if (magnitude === 0n) return 0;
  const limb = Number(BigInt.asIntN(32, magnitude));
  return (Math.imul(31, hashMagnitude(magnitude >> LIMB_BITS)) + limb) | 0;
}

/** The key group of a key with this hash, in [0, maxParallelism). */
export function keyGroupOf(hash: number, maxParallelism: number): number {
  let code = Math.imul(hash, 0xcc9e2d51);
  code = (code << 15) | (code >>> 17);
  code = Math.imul(code, 0x1b873593);
  code = (code << 13) | (code >>> 19);
  code = (Math.imul(code, 5) + 0xe6546b64) | 0;
  code ^= 4;
  code = Math.imul(code ^ (code >>> 16), 0x85ebca6b);
  code = Math.imul(code ^ (code >>> 13), 0xc2b2ae35);
  code ^= code >>> 16;
  // The smallest integer has no positive twin; Flink gives it group 0.
  if (code === -2_147_483_648) return 0;
  return Math.abs(code) % maxParallelism;
}

/**
 * First and last key group of a subtask, both included. Empty (the last is below the first) for
 * subtasks that get none, since there are more of them than key groups.
 */
export function keyGroupRange(
  maxParallelism: number,
  parallelism: number,
  subtask: number,
): readonly [number, number] {
  assert(subtask >= 0 && subtask < parallelism, `subtask ${subtask} of ${parallelism}`);
  return [
    Math.ceil((subtask * maxParallelism) / parallelism),
    Math.floor(((subtask + 1) * maxParallelism - 1) / parallelism),
  ];
}

/** The subtask that owns a key group. */
export function subtaskOf(keyGroup: number, maxParallelism: number, parallelism: number): number {
  return Math.floor((keyGroup * parallelism) / maxParallelism);
}

/** Maximum parallelism of an operator whose user set none: half as much again, as a power of 2. */
export function defaultMaxParallelism(parallelism: number): number {
  const wanted = parallelism + Math.floor(parallelism / 2);
  const power = 2 ** Math.ceil(Math.log2(wanted));
  return Math.min(Math.max(power, DERIVED_MAX_PARALLELISM_MIN), MAX_PARALLELISM_LIMIT);
}

/**
 * Throws a `UserFunctionError` with code KEY_INVALID unless `key` may be a key. `where` names the
 * operator whose key function returned it; `hint` is said besides.
 */
export function checkKey(key: unknown, where: string, hint = ''): asserts key is KeyValue {
  if (isKey(key)) return;
  throw new UserFunctionError(
    `the key function of ${where} returned ${describe(key)}; a key must be a string, a finite ` +
      'number, a bigint, a boolean, or an array of these: return one of them, or filter such ' +
      `records out before keyBy${hint === '' ? '' : `. ${hint}`}`,
    { code: 'KEY_INVALID', details: { operator: where } },
  );
}

/** As `checkKey`, where a record has arrived: where it was sent from there was a key. */
export function checkArrivedKey(key: unknown, operator: string): asserts key is KeyValue {
  checkKey(key, operator, PLAIN_OBJECTS);
}

/**
 * Throws KEY_INVALID when a key belongs to another subtask: then the key function gave another key
 * here than where the record was sent from, and the state would be lost to whoever restores it.
 */
export function checkOwnKeyGroup(
  keyGroup: number,
  [first, last]: readonly [number, number],
  { key, operator }: { readonly key: KeyValue; readonly operator: string },
): void {
  if (keyGroup >= first && keyGroup <= last) return;
  throw new UserFunctionError(
    `the key function of ${operator} returned ${String(key)}, a key of another subtask: for this ` +
      'record it had returned another one, by which the record was sent here. It must return the ' +
      `same key whenever and wherever it is called. ${PLAIN_OBJECTS}`,
    { code: 'KEY_INVALID', details: { operator, key: String(key), keyGroup } },
  );
}

/** For a key function that gives no key, or another, where the record has arrived. */
const PLAIN_OBJECTS =
  'A record from another thread is a plain object, without the getters and methods of its class: ' +
  'take the key from its fields';

function isKey(key: unknown): boolean {
  switch (typeof key) {
    case 'string':
    case 'bigint':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(key);
    default:
      return Array.isArray(key) && areKeys(key);
  }
}

/** `every` would pass over holes. */
function areKeys(keys: readonly unknown[]): boolean {
  for (let i = 0; i < keys.length; i++) if (!isKey(keys[i])) return false;
  return true;
}

function describe(key: unknown): string {
  if (Array.isArray(key)) {
    const wrong = key.findIndex((element) => !isKey(element));
    return `an array with ${describe(key[wrong])} at index ${wrong}`;
  }
  if (key === null || key === undefined || typeof key === 'number') return String(key);
  if (typeof key === 'object') return `an object with the fields {${Object.keys(key).join(', ')}}`;
  return `a ${typeof key}`;
}
