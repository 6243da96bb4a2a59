/**
 * A value as the text that PostgreSQL reads for a type. What cannot be a value of the column is
 * refused here, before the server sees it, so that the record at fault is known.
 */

/** A value as text; throws an `Error` with the reason. Never called with null or undefined. */
export type ToText = (value: unknown) => string;

/** `typeName` as in pg_type: `int4`; of an array that of its elements, with `isArray`. */
export function toTextOf(typeName: string, isArray: boolean): ToText {
  const element = SCALARS[typeName] ?? anyText;
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
  timestamp: (value) => (value instanceof Date ? isoText(value).slice(0, -1) : plainText(value)),
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
  return value;
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
  if (text.includes('\\u0000')) throw new Error('PostgreSQL keeps no JSON with U+0000 in a string');
  return text;
}

function arrayText(value: unknown, element: ToText): string {
  if (!Array.isArray(value)) throw unfit(value, 'an array');
  const items = value.map((item: unknown) => {
    if (item === null || item === undefined) return 'NULL';
    return Array.isArray(item) ? arrayText(item, element) : quotedElement(element(item));
  });
  return `{${items.join(',')}}`;
}

/** An element of an array literal. */
export function quotedElement(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

function unfit(value: unknown, wanted: string): Error {
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : printed(value);
  return new Error(`${shown} is not ${wanted}`);
}

function printed(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null) return String(value);
  return Array.isArray(value) ? 'an array' : `a ${value.constructor?.name ?? 'object'}`;
}
