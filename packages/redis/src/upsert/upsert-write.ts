/** What is written for a record by its key: one value, or the fields of a hash. */
import { SerializationError } from '@weir/core';
import type { Command } from '../client/session.ts';
import type { RedisValue } from '../commands/redis-command.ts';
import { isValue, textOf, whyNoValue } from '../commands/redis-command.ts';

/** The name of a field of the record, or a function. `null` and `undefined`: removed. */
export type FieldOf<T> =
  | {
      readonly [K in keyof T & string]: T[K] extends RedisValue | null | undefined ? K : never;
    }[keyof T & string]
  | ((value: T) => RedisValue | null | undefined);

/** Fields of a hash by name; those left out keep what they hold. */
export type HashFields<T> = Readonly<Record<string, FieldOf<T>>>;

export interface UpsertWrite {
  readonly key: string;
  /** Of a key that holds a value; `null`: the key is removed. */
  readonly value: string | Uint8Array | null;
  /** In the order of the sink's fields; `null`: the field is removed. Absent: no hash. */
  readonly fields: readonly (string | Uint8Array | null)[] | null;
}

export type Contents<T> =
  | { readonly value: (value: T) => RedisValue | null | undefined }
  | { readonly fields: HashFields<T> };

type Reader<T> = (value: T) => RedisValue | null | undefined;

export class WriteEncoder<T> {
  readonly #keyOf: (value: T) => string;
  readonly #valueOf: Reader<T> | null;
  readonly #names: readonly string[];
  readonly #readers: readonly Reader<T>[];
  readonly #expireAfterMs: number | null;

  constructor(key: (value: T) => string, contents: Contents<T>, expireAfterMs: number | null) {
    this.#keyOf = key;
    const fields = 'fields' in contents ? Object.entries(contents.fields) : [];
    this.#valueOf = 'value' in contents ? contents.value : null;
    this.#names = fields.map(([name]) => name);
    this.#readers = fields.map(([, of]): Reader<T> =>
      // The types of a name's field were checked where it was given.
      typeof of === 'function' ? of : (value) => value[of as keyof T] as RedisValue,
    );
    this.#expireAfterMs = expireAfterMs;
  }

  /** @throws SerializationError when there is no key or a value is none that Redis takes. */
  encode(value: T): UpsertWrite {
    const key = this.#keyOf(value);
    if (typeof key !== 'string') throw unfit(String(key), 'its key must be a string');
    if (!key.isWellFormed()) throw unfit(key, `its key: ${whyNoValue(key)}`);
    if (this.#valueOf !== null)
      return { key, value: read(this.#valueOf, value, key), fields: null };
    return { key, value: null, fields: this.#readers.map((of) => read(of, value, key)) };
  }

  commands({ key, value, fields }: UpsertWrite): readonly Command[] {
    const expires = this.#expireAfterMs === null ? null : String(this.#expireAfterMs);
    if (fields === null) {
      if (value === null) return [['DEL', key]];
      const set = ['SET', key, asArgument(value)];
      return [expires === null ? set : [...set, 'PX', expires]];
    }
    const [set, removed]: [(string | Buffer)[], string[]] = [[], []];
    for (const [index, field] of fields.entries()) {
      const name = this.#names[index] ?? '';
      if (field === null) removed.push(name);
      else set.push(name, asArgument(field));
    }
    return [
      ...(removed.length === 0 ? [] : [['HDEL', key, ...removed]]),
      ...(set.length === 0 ? [] : [['HSET', key, ...set]]),
      ...(expires === null ? [] : [['PEXPIRE', key, expires]]),
    ];
  }
}

function read<T>(of: Reader<T>, value: T, key: string): string | Uint8Array | null {
  const found = of(value);
  if (found === null || found === undefined) return null;
  if (isValue(found)) return textOf(found);
  throw unfit(key, whyNoValue(found));
}

function unfit(key: string, reason: string): SerializationError {
  return new SerializationError(
    `redisUpsertSink cannot write the record of the key ${key}: ${reason}; have the function ` +
      'return one, as JSON.stringify does',
    { code: 'RECORD_MALFORMED', details: { position: `redisUpsertSink ${key}` } },
  );
}

function asArgument(value: string | Uint8Array): string | Buffer {
  if (typeof value === 'string') return value;
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
