/**
 * Checks and converts one value of a configuration option. Text comes from files and `-D`, other
 * types from YAML and code; both end as the same plain value.
 */
import type { ConfigOption } from '../config-options.ts';
import {
  DURATION_FORMS,
  MEMORY_SIZE_FORMS,
  formatDuration,
  formatMemorySize,
  tryParseDuration,
  tryParseMemorySize,
} from '../duration.ts';
import { ConfigurationError, messageOf } from '../errors.ts';
import { maskSecrets } from '../mask-secrets.ts';

/** A value as stored: milliseconds, bytes, numbers, text, or `null` for "not set". */
export type PlainValue = string | number | boolean | null;

type Numeric = Extract<ConfigOption, { readonly default: number | null }>;
type Enumeration = Extract<ConfigOption, { readonly type: 'enum' }>;

/**
 * @throws ConfigurationError of one line that names the key, the value and what is allowed.
 */
export function parseConfigValue(
  key: string,
  option: ConfigOption,
  raw: unknown,
  origin: string,
): PlainValue {
  const value = parse(option, raw);
  if (value !== undefined) return value;
  const shown = typeof raw === 'string' ? `"${raw}"` : show(raw);
  throw new ConfigurationError(
    `${key}: ${shown} (${origin}) is not allowed; allowed: ${describeAllowed(option)}`,
    { details: { key, value: maskSecrets(show(raw)), origin } },
  );
}

/** What an option accepts, for messages and the reference page. */
export function describeAllowed(option: ConfigOption): string {
  const none = isNullable(option) && option.type !== 'enum' ? ', or none' : '';
  switch (option.type) {
    case 'boolean':
      return 'true or false';
    case 'string':
      return `text${none}`;
    case 'enum':
      return option.values.join(', ');
    case 'duration':
      return `${DURATION_FORMS}${bounds(option)}${none}`;
    case 'memory':
      return `${MEMORY_SIZE_FORMS}${bounds(option)}${none}`;
    case 'int': {
      const word = option.word === undefined ? '' : `, as in 5 or ${option.word} 5`;
      return `a whole number${bounds(option)}${word}${none}`;
    }
    case 'number':
      return `a number${bounds(option)}${none}`;
  }
}

/** A value for people, in the unit of its option. */
export function formatConfigValue(option: ConfigOption, value: PlainValue): string {
  if (value === null) return 'none';
  if (option.type === 'duration') return formatDuration(Number(value));
  if (option.type === 'memory') return formatMemorySize(Number(value));
  return String(value);
}

/** `undefined`: not allowed. */
function parse(option: ConfigOption, raw: unknown): PlainValue | undefined {
  switch (option.type) {
    case 'boolean':
      return parseBoolean(raw);
    case 'enum':
      return parseEnum(option, raw);
    case 'string':
      if (isNone(option, raw)) return null;
      return typeof raw === 'string' && raw !== '' ? raw : undefined;
    default:
      return isNone(option, raw) ? null : parseNumeric(option, raw);
  }
}

function parseBoolean(raw: unknown): boolean | undefined {
  const text = typeof raw === 'string' ? raw.trim().toLowerCase() : raw;
  if (text === true || text === 'true') return true;
  return text === false || text === 'false' ? false : undefined;
}

function parseEnum(option: Enumeration, raw: unknown): string | null | undefined {
  if (raw === null && isNullable(option)) return null;
  if (typeof raw !== 'string') return undefined;
  const text = kebab(raw.trim());
  const meant = option.synonyms?.[text] ?? text;
  const value = option.values.find((one) => kebab(one) === meant);
  return value ?? (isNone(option, raw) ? null : undefined);
}

function kebab(text: string): string {
  return text.toLowerCase().replaceAll('_', '-');
}

function parseNumeric(option: Numeric, raw: unknown): number | undefined {
  if (typeof raw !== 'string' && typeof raw !== 'number') return undefined;
  const value = toNumber(option.type, withoutWord(option, raw));
  if (value === null || !Number.isFinite(value)) return undefined;
  if (option.type !== 'number' && !Number.isSafeInteger(value)) return undefined;
  if (value < lowest(option) || value > (option.max ?? Infinity)) return undefined;
  return Math.min(value, option.cap ?? Infinity);
}

function withoutWord({ word }: Numeric, raw: string | number): string | number {
  if (word === undefined || typeof raw !== 'string') return raw;
  const [first = '', ...rest] = raw.trim().split(/\s+/);
  return first.toLowerCase() === word && rest.length > 0 ? rest.join(' ') : raw;
}

function toNumber(type: Numeric['type'], raw: string | number): number | null {
  if (type === 'duration') return tryParseDuration(raw);
  if (type === 'memory') return tryParseMemorySize(raw);
  const isDecimal = /^\s*[+-]?\d+(\.\d+)?(e[+-]?\d+)?\s*$/i.test(String(raw));
  return isDecimal ? Number(raw) : null;
}

function lowest(option: Numeric): number {
  const isSize = option.type === 'duration' || option.type === 'memory';
  return option.min ?? (isSize ? 0 : -Infinity);
}

function isNullable(option: ConfigOption): boolean {
  return option.default === null || ('nullable' in option && option.nullable === true);
}

function isNone(option: ConfigOption, raw: unknown): boolean {
  if (!isNullable(option)) return false;
  return raw === null || (typeof raw === 'string' && raw.trim().toLowerCase() === 'none');
}

function bounds(option: Numeric): string {
  const low = option.min === undefined ? '' : formatConfigValue(option, option.min);
  const high = option.max === undefined ? '' : formatConfigValue(option, option.max);
  if (low !== '' && high !== '') return `, from ${low} to ${high}`;
  if (low !== '') return `, at least ${low}`;
  return high === '' ? '' : `, at most ${high}`;
}

function show(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch (error) {
    return `[${messageOf(error)}]`;
  }
}
