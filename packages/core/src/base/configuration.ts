/**
 * Settings by key, immutable, each with where it came from. Layers are merged, the later winning:
 * defaults, settings in code, the configuration file, `-Dkey=value`. So what is given at the start
 * of a run wins over what the job says. Values are checked when they enter; that settings fit each
 * other is checked by `checkConfiguration` once the layers are together.
 */
import { CONFIG_KEYS, CONFIG_OPTIONS } from './config-options.ts';
import type { ConfigKey, ConfigSettings, ConfigValue } from './config-options.ts';
import { ConfigurationError } from './errors.ts';
import { didYouMean } from './nearest.ts';
import { parseConfigValue } from './options/config-value.ts';
import type { PlainValue } from './options/config-value.ts';

interface Setting {
  readonly value: PlainValue;
  /** Where it was set: `weir.yaml`, `-D`, `orders.ts:4`. */
  readonly origin: string;
}

/** A configuration as plain data, which crosses threads and processes. */
export interface PlainConfiguration {
  readonly settings: readonly (readonly [ConfigKey, PlainValue, string])[];
  readonly warnings: readonly string[];
}

/** Older keys and what they stand for. */
const DEPRECATED: ReadonlyMap<string, readonly ConfigKey[]> = deprecatedKeys();

export class Configuration {
  /** Nothing set: every option has its default. */
  static readonly empty: Configuration = new Configuration(new Map(), []);

  readonly #settings: ReadonlyMap<ConfigKey, Setting>;
  /** What was accepted but should be changed, such as older keys: a sentence each. */
  readonly warnings: readonly string[];

  private constructor(settings: ReadonlyMap<ConfigKey, Setting>, warnings: readonly string[]) {
    this.#settings = settings;
    this.warnings = warnings;
  }

  /** Settings in code; keys and values are checked by the compiler and again at run time. */
  static of(settings: ConfigSettings, origin = 'code'): Configuration {
    return Configuration.fromObject(settings, origin);
  }

  /**
   * Reads what a file holds: keys with dots, or nested objects, or both.
   * @throws ConfigurationError when a key is unknown or a value is not allowed.
   */
  static fromObject(object: object, origin: string): Configuration {
    const settings = new Map<ConfigKey, Setting>();
    const warnings: string[] = [];
    for (const [key, raw] of flatten(object, '')) {
      if (raw === null && isSection(key)) continue;
      const keys = resolveKey(key, origin);
      if (keys[0] !== key)
        warnings.push(`${key} (${origin}) is an older name of ${keys.join(' and ')}`);
      for (const resolved of keys) {
        // The present name wins over an older one beside it, whatever their order.
        if (resolved !== key && settings.has(resolved)) continue;
        const value = parseConfigValue(key, CONFIG_OPTIONS[resolved], raw, origin);
        settings.set(resolved, { value, origin });
      }
    }
    return new Configuration(settings, warnings);
  }

  /**
   * Reads `key=value` pairs of the command line, later ones winning.
   * @throws ConfigurationError as `fromObject`, and when a pair has no `=`.
   */
  static fromProperties(properties: readonly string[], origin = '-D'): Configuration {
    let result = Configuration.empty;
    for (const property of properties) {
      const at = property.indexOf('=');
      if (at <= 0)
        throw new ConfigurationError(`${origin}${property}: a setting is given as -Dkey=value`);
      const pair = { [property.slice(0, at).trim()]: property.slice(at + 1).trim() };
      result = result.mergedWith(Configuration.fromObject(pair, origin));
    }
    return result;
  }

  static fromPlain(plain: PlainConfiguration): Configuration {
    const settings = plain.settings.map(
      ([key, value, origin]) => [key, { value, origin }] as const,
    );
    return new Configuration(new Map(settings), plain.warnings);
  }

  /** The value set, or the default: milliseconds, bytes, `null` for "not set". */
  get<K extends ConfigKey>(key: K): ConfigValue<K> {
    const setting = this.#settings.get(key);
    const value = setting === undefined ? CONFIG_OPTIONS[key].default : setting.value;
    // The value was checked against the option from which the type is derived.
    return value as ConfigValue<K>;
  }

  /** Whether the option was set at all, be it to its default. */
  has(key: ConfigKey): boolean {
    return this.#settings.has(key);
  }

  /** Where the option was set; `null` when it was not. */
  originOf(key: ConfigKey): string | null {
    return this.#settings.get(key)?.origin ?? null;
  }

  /** The keys that were set. */
  keys(): readonly ConfigKey[] {
    return [...this.#settings.keys()];
  }

  /** This configuration with the settings of `over` on top. */
  mergedWith(over: Configuration): Configuration {
    const warnings = new Set([...this.warnings, ...over.warnings]);
    return new Configuration(new Map([...this.#settings, ...over.#settings]), [...warnings]);
  }

  toPlain(): PlainConfiguration {
    const settings = [...this.#settings].map(
      ([key, { value, origin }]) => [key, value, origin] as const,
    );
    return { settings, warnings: this.warnings };
  }
}

function* flatten(object: object, prefix: string): Generator<readonly [string, unknown]> {
  for (const [name, value] of Object.entries(object)) {
    const key = prefix === '' ? name : `${prefix}.${name}`;
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      yield* flatten(value, key);
    else if (value !== undefined) yield [key, value];
  }
}

function resolveKey(key: string, origin: string): readonly ConfigKey[] {
  if (isConfigKey(key)) return [key];
  const present = DEPRECATED.get(key);
  if (present !== undefined) return present;
  const suggestion = didYouMean(key, [...CONFIG_KEYS, ...DEPRECATED.keys()]);
  throw new ConfigurationError(`${key} (${origin}) is not a configuration key${suggestion}`, {
    details: { key, origin },
  });
}

/** Whether a key is only the beginning of others; a file may leave such a section empty. */
function isSection(key: string): boolean {
  return !isConfigKey(key) && CONFIG_KEYS.some((one) => one.startsWith(`${key}.`));
}

function isConfigKey(key: string): key is ConfigKey {
  return Object.hasOwn(CONFIG_OPTIONS, key);
}

function deprecatedKeys(): ReadonlyMap<string, readonly ConfigKey[]> {
  const found = new Map<string, ConfigKey[]>();
  for (const key of CONFIG_KEYS)
    for (const deprecated of CONFIG_OPTIONS[key].deprecatedKeys ?? [])
      found.set(deprecated, [...(found.get(deprecated) ?? []), key]);
  return found;
}
