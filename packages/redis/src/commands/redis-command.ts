/**
 * Commands that a sink writes. Redis does not take back a transaction of which one command fails,
 * so whatever can be wrong with a command is found out beforehand: here what is wrong in itself,
 * while the record it comes from is known; in `check-keys.ts` what does not fit the keys.
 */
import { SerializationError } from '@weir/core';
import { packed } from './logged-commands.ts';
import type { LoggedCommands } from './logged-commands.ts';

export type RedisValue = string | number | bigint | Uint8Array;

/** As one types it into `redis-cli`. */
export type RedisCommand =
  | readonly ['SET', key: string, value: RedisValue]
  | readonly ['SET', key: string, value: RedisValue, unit: 'EX' | 'PX', time: number]
  | readonly ['DEL', key: string]
  | readonly ['EXPIRE' | 'PEXPIRE', key: string, time: number]
  | readonly ['INCRBY', key: string, by: number | bigint]
  | readonly ['HSET', key: string, field: string, value: RedisValue, ...more: RedisValue[]]
  | readonly ['HDEL', key: string, field: string, ...more: string[]]
  | readonly ['HINCRBY', key: string, field: string, by: number | bigint]
  | readonly ['RPUSH' | 'LPUSH', key: string, value: RedisValue, ...more: RedisValue[]]
  | readonly ['SADD' | 'SREM', key: string, member: RedisValue, ...more: RedisValue[]]
  | readonly ['ZADD', key: string, score: number, member: RedisValue]
  | readonly ['ZREM', key: string, member: RedisValue, ...more: RedisValue[]]
  | readonly [
      'XADD',
      key: string,
      id: '*',
      field: string,
      value: RedisValue,
      ...more: RedisValue[],
    ];

interface CommandRule {
  /** What the key must hold, unless it is not there; `null`: anything. */
  readonly type: 'string' | 'hash' | 'list' | 'set' | 'zset' | 'stream' | null;
  /** How many arguments stand behind the key. */
  readonly takes: (count: number) => boolean;
  /** Places behind the key that must hold whole numbers, and the least of them. */
  readonly whole?: { readonly at: number; readonly least: number | null };
}

const INT64_MAX = 2n ** 63n - 1n;
const atLeast =
  (least: number) =>
  (count: number): boolean =>
    count >= least;
const exactly =
  (wanted: number) =>
  (count: number): boolean =>
    count === wanted;
const pairs = (count: number): boolean => count >= 2 && count % 2 === 0;

export const RULES: Readonly<Record<RedisCommand[0], CommandRule>> = {
  SET: { type: null, takes: (count) => count === 1 || count === 3, whole: { at: 2, least: 1 } },
  DEL: { type: null, takes: exactly(0) },
  EXPIRE: { type: null, takes: exactly(1), whole: { at: 0, least: 0 } },
  PEXPIRE: { type: null, takes: exactly(1), whole: { at: 0, least: 0 } },
  INCRBY: { type: 'string', takes: exactly(1), whole: { at: 0, least: null } },
  HSET: { type: 'hash', takes: pairs },
  HDEL: { type: 'hash', takes: atLeast(1) },
  HINCRBY: { type: 'hash', takes: exactly(2), whole: { at: 1, least: null } },
  RPUSH: { type: 'list', takes: atLeast(1) },
  LPUSH: { type: 'list', takes: atLeast(1) },
  SADD: { type: 'set', takes: atLeast(1) },
  SREM: { type: 'set', takes: atLeast(1) },
  ZADD: { type: 'zset', takes: exactly(2) },
  ZREM: { type: 'zset', takes: atLeast(1) },
  XADD: { type: 'stream', takes: (count) => count >= 3 && count % 2 === 1 },
};

/** Valid until the next. @throws SerializationError when a command cannot be carried out as is. */
export function logged(
  commands: RedisCommand | readonly RedisCommand[],
  sink: string,
): LoggedCommands {
  const list = listOf(commands, sink);
  let asksKeys = false;
  const texts = list.map((command) => {
    const wrong = whatIsWrong(command);
    if (wrong === null) {
      asksKeys ||= RULES[command[0]].type !== null;
      return command.map((argument) => textOf(argument));
    }
    const shown = JSON.stringify(command.map(String)).slice(0, 200);
    throw new SerializationError(`${sink}: the command ${shown} cannot be written: ${wrong}`, {
      code: 'RECORD_MALFORMED',
      details: { position: `${sink} ${shown}`, command: shown },
    });
  });
  return packed(texts, asksKeys);
}

function listOf(
  commands: RedisCommand | readonly RedisCommand[],
  sink: string,
): readonly RedisCommand[] {
  if (isOne(commands)) return [commands];
  const given: unknown = commands;
  if (Array.isArray(given) && given.every((it) => Array.isArray(it))) return commands;
  // Not what the type says, where a function is async or forgets to return.
  throw new SerializationError(
    `${sink}: the function commands returned ${String(given)}; it must return a command, such ` +
      "as ['SET', 'key', 'value'], or a list of commands",
    { code: 'RECORD_MALFORMED' },
  );
}

function isOne(commands: RedisCommand | readonly RedisCommand[]): commands is RedisCommand {
  return Array.isArray(commands) && typeof commands[0] === 'string';
}

function whatIsWrong(command: RedisCommand): string | null {
  const [name, key, ...rest] = command;
  const rule = Object.hasOwn(RULES, name) ? RULES[name] : null;
  if (rule === null) return `it must be one of ${Object.keys(RULES).join(', ')}`;
  if (typeof key !== 'string') return 'its key must be a string';
  if (!key.isWellFormed()) return `its key ${HALF}`;
  const odd = rest.find((argument) => !isValue(argument));
  if (odd !== undefined || rest.includes(undefined as never)) return whyNoValue(odd);
  if (!rule.takes(rest.length)) return 'the number of its arguments is wrong';
  if (name === 'SET' && rest.length === 3 && !['EX', 'PX'].includes(String(rest[1])))
    return 'SET takes EX or PX';
  if (name === 'XADD' && rest[0] !== '*') return 'the id of an entry must be *';
  if (name === 'ZADD' && typeof rest[0] !== 'number') return 'the score must be a number';
  const { whole } = rule;
  if (whole === undefined || rest[whole.at] === undefined) return null;
  const number = rest[whole.at];
  const isWhole =
    Number.isSafeInteger(number) ||
    // Of times the server takes no more than a number holds.
    (typeof number === 'bigint' &&
      whole.least === null &&
      number <= INT64_MAX &&
      number >= -INT64_MAX);
  if (!isWhole) return `${String(number)} is no whole number`;
  return whole.least !== null && Number(number) < whole.least
    ? `${String(number)} is less than ${whole.least}`
    : null;
}

const HALF = 'has half a character, which is no text in UTF-8; give a Uint8Array, or repair it';

/** Whether it can be written as it is. */
export function isValue(value: unknown): value is RedisValue {
  return (
    (typeof value === 'string' && value.isWellFormed()) ||
    typeof value === 'bigint' ||
    (typeof value === 'number' && !Number.isNaN(value)) ||
    value instanceof Uint8Array
  );
}

export function whyNoValue(value: unknown): string {
  if (typeof value === 'string') return `${JSON.stringify(value.slice(0, 60))} ${HALF}`;
  return `${String(value)} is no string, number, bigint or Uint8Array`;
}

/** Infinity is what Redis calls inf. */
export function textOf(value: RedisValue): string | Uint8Array {
  if (typeof value === 'string') return value;
  if (value instanceof Uint8Array) return value;
  if (value === Infinity) return 'inf';
  return value === -Infinity ? '-inf' : String(value);
}
