/**
 * Checks options when source or sink is made. Jobs run without a compiler, so a wrong word or a
 * misspelt name would otherwise quietly mean something else: a weaker guarantee, at worst.
 * `connectionRules` are for both; source and sink add theirs. Values of logins are never printed.
 */
import { ConfigurationError } from '@weir/core';
import type { KafkaConnectionOptions } from './connection-options.ts';

export interface OptionRule {
  /** What is allowed, after "give". */
  readonly allowed: string;
  readonly takes: (value: unknown) => boolean;
  readonly isRequired?: boolean;
  /** The value may hold a password. */
  readonly isSecret?: boolean;
}

/** One rule for every option. */
export type OptionRules<Options> = { readonly [Name in keyof Options]-?: OptionRule };

/** `name`: that of source or sink. */
export function checkOptions<Options extends object>(
  name: string,
  options: Options,
  rules: OptionRules<Options>,
): void {
  if (!isObject(options)) throw new ConfigurationError(`${name}: give an object of options`);
  const known = new Map<string, OptionRule>(Object.entries(rules));
  for (const option of Object.keys(options))
    if (!known.has(option))
      throw new ConfigurationError(
        `${name} ${option}: there is no such option; there are ${[...known.keys()].join(', ')}`,
      );
  for (const [option, rule] of known) {
    const value: unknown = Reflect.get(options, option);
    if (value === undefined ? rule.isRequired !== true : rule.takes(value)) continue;
    const wrong = value === undefined ? 'is missing' : `${printed(value, rule)} is not allowed`;
    throw new ConfigurationError(`${name} ${option}: ${wrong}, give ${rule.allowed}`);
  }
}

export const text: OptionRule = { allowed: 'a text that is not empty', takes: isText };

export const aFunction: OptionRule = { allowed: 'a function', takes: isFunction };

export function oneOf(...values: readonly string[]): OptionRule {
  const allowed = `${values.slice(0, -1).join(', ')} or ${values.at(-1) ?? ''}`;
  return { allowed, takes: (value) => values.includes(value as string) };
}

/** Milliseconds and bytes of the protocol have 32 bits, and so have Node's timers. */
export function whole(least: number, most: number = 0x7fffffff): OptionRule {
  return {
    allowed: `a whole number from ${least} to ${most}`,
    takes: (value) => isWhole(value, least) && Number(value) <= most,
  };
}

export function required(rule: OptionRule): OptionRule {
  return { ...rule, isRequired: true };
}

export const connectionRules: OptionRules<KafkaConnectionOptions> = {
  bootstrap: {
    allowed: 'host:port, or several of them in a list or with commas',
    takes: (value) => isText(value) || isListOf(value, isText),
    isRequired: true,
  },
  clientId: text,
  connectTimeoutMs: whole(1),
  requestTimeoutMs: whole(1),
  retryForMs: whole(0),
  tls: { allowed: "an object of options of Node's tls.connect", takes: isObject, isSecret: true },
  sasl: {
    allowed:
      '{ mechanism, username, password } with PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, or ' +
      "{ mechanism: 'OAUTHBEARER', token }; each a text or a function",
    takes: isLogin,
    isSecret: true,
  },
};

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

export function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}

export function isWhole(value: unknown, least: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= least;
}

export function isListOf(value: unknown, isOne: (value: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isOne);
}

const PASSWORD_LOGINS: readonly unknown[] = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'];

function isLogin(value: unknown): boolean {
  if (!isObject(value)) return false;
  const isGiven = (name: string): boolean => isText(value[name]) || isFunction(value[name]);
  if (value['mechanism'] === 'OAUTHBEARER') return isGiven('token');
  return PASSWORD_LOGINS.includes(value['mechanism']) && isGiven('username') && isGiven('password');
}

function printed(value: unknown, { isSecret = false }: OptionRule): string {
  if (isSecret) return 'what is given';
  if (isFunction(value)) return 'a function';
  if (typeof value === 'number') return String(value);
  return JSON.stringify(value) ?? String(value);
}
