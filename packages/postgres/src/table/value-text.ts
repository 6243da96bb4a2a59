/**
 * A value as the text that PostgreSQL reads for a type. What cannot be a value of the column is
 * refused here, before the server sees it, so that the record at fault is known.
 */

import type { TableColumn } from './check-columns.ts';

/** A value as text; throws an `Error` with the reason. Never called with null or undefined. */
export type ToText = (value: unknown) => string;

export function toTextOf({
  typeName,
  shownType,
  isArray,
}: Pick<TableColumn, 'typeName' | 'shownType' | 'isArray'>): ToText {
  const any = SCALARS[typeName] ?? anyText;
  const length = /^character(?: varying)?\((\d+)\)/.exec(shownType)?.[1];
  const element = length === undefined ? any : upTo(Number(length), any);
  return isArray ? (value) => arrayText(value, element) : element;
}

const SCALARS: Readonly<Record<string, ToText>> = {
  int2: wholeNumber(-(2n ** 15n), 2n ** 15n - 1n),
  int4: wholeNumber(-(2n ** 31n), 2n ** 31n - 1n),
  int8: wholeNumber(-(2n ** 63n), 2n ** 63n - 1n),
  float4: floating,
  float8: floating,
  numeric: exactNumber,
  bool: (value) => {
    if (typeof value === 'boolean') return value ? 't' : 'f';
    throw unfit(value, 'true or false');
  },
  text: plainText,
  varchar: plainText,
  bpchar: plainText,
  uuid: plainText,
  date: (value) => (value instanceof Date ? isoText(value).slice(0, 10) : plainText(value)),
  timestamp: (value) => (value instanceof Date ? isoText(value).slice(0, -1) : localTime(value)),
  timestamptz: (value) => (value instanceof Date ? isoText(value) : plainText(value)),
  json: jsonText,
  jsonb: jsonText,
  bytea: (value) => {
    if (!(value instanceof Uint8Array)) throw unfit(value, 'a Uint8Array');
    return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`;
  },
};

function wholeNumber(least: bigint, most: bigint): ToText {
  const isSmall = most <= BigInt(Number.MAX_SAFE_INTEGER);
  const [min, max] = isSmall
    ? [Number(least), Number(most)]
    : [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  return (value) => {
    if (typeof value === 'number') {
      if (Number.isInteger(value) && value >= min && value <= max) return String(value);
      if (!isSmall && Number.isInteger(value))
        throw new Error(`${value} is not exact as a number; give a bigint, or a string of digits`);
    } else if (typeof value === 'bigint' || isDigits(value)) {
      const whole = BigInt(value);
      if (whole >= least && whole <= most) return whole.toString();
    }
    throw unfit(value, `a whole number from ${least} to ${most}`);
  };
}

function isDigits(value: unknown): value is string {
  return typeof value === 'string' && /^[+-]?\d{1,19}$/.test(value);
}

function floating(value: unknown): string {
  if (typeof value !== 'number') throw unfit(value, 'a number');
  return Object.is(value, -0) ? '-0' : String(value);
}

function exactNumber(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number' && !Number.isNaN(value)) return String(value);
  if (typeof value === 'string' && /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(value))
    return value;
  if (Number.isNaN(value) || value === 'NaN') return 'NaN';
  throw unfit(value, 'a number');
}

function plainText(value: unknown): string {
  if (typeof value !== 'string') throw unfit(value, 'a string');
  if (value.includes('\0')) throw new Error('PostgreSQL keeps no text with the character U+0000');
  if (!value.isWellFormed()) throw new Error('it has half a character, which is no text in UTF-8');
  return value;
}

/** Spaces at the end count for nothing, as in SQL. */
function upTo(length: number, toText: ToText): ToText {
  return (value) => {
    const text = toText(value);
    // Characters of PostgreSQL are code points, at most as many as units of UTF-16.
    if (text.length <= length) return text;
    const count = charactersOf(text.replace(/ +$/, ''));
    if (count <= length) return text;
    throw new Error(`${shown(text)} has ${count} characters, and ${length} is the most`);
  };
}

function charactersOf(text: string): number {
  let count = 0;
  for (const _character of text) count++;
  return count;
}

/** A type without time zone would drop one in silence. */
function localTime(value: unknown): string {
  const text = plainText(value);
  if (!/:\d\d.*[+-](?!00(?::?00)?$)\d\d(?::?\d\d)?$/.test(text)) return text;
  throw new Error(`${shown(text)} has a time zone, which the type drops; give a Date, or UTC`);
}

/** Types of which nothing is known here: the server decides. */
function anyText(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return plainText(value);
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      if (value instanceof Date) return isoText(value);
      throw unfit(value, 'a string');
  }
}

function isoText(value: Date): string {
  if (Number.isNaN(value.getTime())) throw new Error('the date is invalid');
  const year = value.getUTCFullYear();
  if (year < 1 || year > 9999) throw new Error(`the year ${year} needs a string`);
  return value.toISOString();
}

function jsonText(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw unfit(value, 'a value that JSON knows');
  if (text.includes('\\u') && /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(text))
    throw new Error('PostgreSQL reads no JSON with U+0000 or half a character in a string');
  // How JSON writes what it has no way for; then it is worth another look.
  if (text.includes('null') || text.includes('{}')) JSON.stringify(value, refuseWhatJsonDrops);
  return text;
}

const DROPPED = [Map, Set, Promise, RegExp, Error] as const;

function refuseWhatJsonDrops(_name: string, value: unknown): unknown {
  const isLost =
    (typeof value === 'number' && !Number.isFinite(value)) ||
    DROPPED.some((type) => value instanceof type);
  if (isLost) throw new Error(`${printed(value)} in it is nothing that JSON knows`);
  return value;
}

function arrayText(value: unknown, element: ToText): string {
  if (!Array.isArray(value)) throw unfit(value, 'an array');
  const items = value.map((item: unknown) => {
    if (item === null || item === undefined) return 'NULL';
    // An array in JSON is one value.
    const isNested = Array.isArray(item) && element !== jsonText;
    return isNested ? arrayText(item, element) : quotedElement(element(item));
  });
  return `{${items.join(',')}}`;
}

/** An element of an array literal. */
export function quotedElement(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

function unfit(value: unknown, wanted: string): Error {
  const text = typeof value === 'string' ? shown(value) : printed(value);
  return new Error(`${text} is not ${wanted}`);
}

const SHOWN_LENGTH = 60;

function shown(text: string): string {
  const cut = text.length <= SHOWN_LENGTH ? text : `${text.slice(0, SHOWN_LENGTH)}…`;
  return JSON.stringify(cut);
}

function printed(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null) return String(value);
  return Array.isArray(value) ? 'an array' : `a ${value.constructor?.name ?? 'object'}`;
}
