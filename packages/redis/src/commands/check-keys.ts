/**
 * Whether the keys in a database fit the commands that are about to be written: their types, and
 * for numbers that are added to, their values. Asked once for each key of a transaction.
 */
import { WeirError } from '@weir/core';
import type { Command, Session } from '../client/session.ts';
import { RULES } from './redis-command.ts';

const INT64_MAX = 2n ** 63n - 1n;

/** A command of which the arguments are texts. */
export type TextCommand = readonly string[];

interface Sum {
  readonly key: string;
  /** `null`: the key itself. */
  readonly field: string | null;
  /** What a command of the same transaction puts there; `null`: what the server holds counts. */
  readonly start: string | null;
  by: bigint;
  /** The least and the most that it grew by on the way; Redis takes no sum beyond its limits. */
  least: bigint;
  most: bigint;
}

/** @throws WeirError of kind `user` that names the key. */
export async function checkKeys(
  session: Session,
  place: string,
  commands: readonly TextCommand[],
): Promise<void> {
  const types = typesOf(commands, place);
  const keys = [...types.keys()];
  if (keys.length === 0) return;
  const asked = keys.map((key): Command => ['TYPE', key]);
  const found = await session.send('TYPE', asked);
  for (const [index, key] of keys.entries()) {
    const [wanted, type] = [types.get(key) ?? '', String(found[index])];
    if (type !== 'none' && type !== wanted) throw wrongType(place, key, { type, wanted });
  }
  await checkSums(session, place, commands);
}

/** What each key must hold. A command that replaces or removes it makes room for any type. */
function typesOf(commands: readonly TextCommand[], place: string): Map<string, string> {
  const types = new Map<string, string>();
  const now = new Map<string, string>();
  for (const [name, key] of commands) {
    if (name === undefined || key === undefined) continue;
    if (name === 'SET' || name === 'DEL') {
      now.set(key, name === 'SET' ? 'string' : 'none');
      continue;
    }
    const wanted = RULES[name as keyof typeof RULES].type;
    if (wanted === null) continue;
    const type = now.get(key);
    if (type === undefined) types.set(key, wanted);
    else if (type !== 'none' && type !== wanted) throw wrongType(place, key, { type, wanted });
    now.set(key, wanted);
  }
  return types;
}

/** A sum must be a whole number of 64 bits, before and after. */
async function checkSums(
  session: Session,
  place: string,
  commands: readonly TextCommand[],
): Promise<void> {
  const sums = sumsOf(commands);
  const stored = sums.filter(({ start }) => start === null);
  const asked = stored.map(({ key, field }): Command =>
    field === null ? ['GET', key] : ['HGET', key, field],
  );
  const found = asked.length === 0 ? [] : await session.send('GET', asked);
  for (const sum of sums) {
    const { key, field, by, least, most, start } = sum;
    const value = start ?? found[stored.indexOf(sum)] ?? '0';
    const isFit =
      typeof value === 'string' &&
      /^(0|-?[1-9]\d{0,18})$/.test(value) &&
      [0n, least, most]
        .map((it) => BigInt(value) + it)
        .every((it) => it <= INT64_MAX && it >= -INT64_MAX);
    if (isFit) continue;
    const name = field === null ? key : `${key} (field ${field})`;
    throw new WeirError(
      'user',
      `Redis at ${place}: the key ${name} is to grow by ${by}, and holds ` +
        `${JSON.stringify(value).slice(0, 100)}, which would be no whole number of 64 bits; ` +
        'write to another key, or change what it holds',
      { code: 'SINK_REFUSED', details: { key } },
    );
  }
}

function sumsOf(commands: readonly TextCommand[]): readonly Sum[] {
  const sums = new Map<string, Sum>();
  const starts = new Map<string, string>();
  const cleared = new Set<string>();
  const placeOf = (key: string, field: string | null): string => JSON.stringify([key, field]);
  for (const [name, key = '', ...rest] of commands) {
    if (name === 'SET') starts.set(placeOf(key, null), rest[0] ?? '');
    if (name === 'HSET')
      for (let i = 0; i < rest.length; i += 2)
        starts.set(placeOf(key, rest[i] ?? ''), rest[i + 1] ?? '');
    if (name === 'HDEL') for (const field of rest) starts.set(placeOf(key, field), '0');
    if (name === 'SET' || name === 'DEL') cleared.add(key);
    if (name === 'DEL')
      for (const place of starts.keys())
        if ((JSON.parse(place) as string[])[0] === key) starts.delete(place);
    if (name !== 'INCRBY' && name !== 'HINCRBY') continue;
    const field = name === 'HINCRBY' ? (rest[0] ?? '') : null;
    const start = starts.get(placeOf(key, field)) ?? (cleared.has(key) ? '0' : null);
    const by = BigInt(rest.at(-1) ?? '0');
    const id = JSON.stringify([key, field, start]);
    const sum = sums.get(id) ?? { key, field, start, by: 0n, least: by, most: by };
    sums.set(id, sum);
    sum.by += by;
    if (sum.by < sum.least) sum.least = sum.by;
    if (sum.by > sum.most) sum.most = sum.by;
  }
  return [...sums.values()];
}

interface Types {
  readonly type: string;
  readonly wanted: string;
}

export function wrongType(place: string, key: string, { type, wanted }: Types): WeirError {
  return new WeirError(
    'user',
    `Redis at ${place}: WRONGTYPE: the key ${key} holds a ${type}, and a ${wanted} is to be ` +
      'written to it; write to another key, or remove this one',
    { code: 'SINK_REFUSED', details: { key, type, wanted } },
  );
}
