/** Keys, their frozen hash, and key groups. */
import type { UserFunctionError } from './errors.ts';

/** What may be a key. */
export type KeyValue = string | number | bigint | boolean | readonly KeyValue[];

/** 32-bit signed hash of a key. */
export function hashKey(_key: KeyValue): number {
  throw new Error('stub');
}
export function keyGroupOf(_hash: number, _maxParallelism: number): number {
  throw new Error('stub');
}
/** First and last key group of a subtask, both included; empty (last < first) when p > maxP. */
export function keyGroupRange(
  _maxParallelism: number,
  _parallelism: number,
  _subtask: number,
): readonly [number, number] {
  throw new Error('stub');
}
/** The subtask that owns a key group. */
export function subtaskOf(
  _keyGroup: number,
  _maxParallelism: number,
  _parallelism: number,
): number {
  throw new Error('stub');
}
export function defaultMaxParallelism(_parallelism: number): number {
  throw new Error('stub');
}
/** Throws a UserFunctionError with code KEY_INVALID, unless `key` may be a key. */
export function checkKey(_key: unknown, _where: string): asserts _key is KeyValue {
  throw new Error('stub');
}
export type { UserFunctionError };
