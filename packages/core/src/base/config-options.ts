/**
 * Every configuration option, in one table by key. The type of `configuration.get(key)` follows
 * from it, as do the checks of values and `docs/reference/configuration.md` (kept in step by a
 * test). A key that is not here is refused.
 */
import type { Duration } from './duration.ts';
import { CHECKPOINT_OPTIONS } from './options/checkpoint-options.ts';
import { LATER_OPTIONS } from './options/later-options.ts';
import { RUNTIME_OPTIONS } from './options/runtime-options.ts';

interface OptionFacts {
  /** One sentence on what the option does. */
  readonly doc: string;
  /** Older keys that mean the same. One that stands for two options sets both. */
  readonly deprecatedKeys?: readonly string[];
  /** Absent: supported. Otherwise every value but the default is refused. */
  readonly supported?: false;
}
interface NumericOption extends OptionFacts {
  /** `duration` in milliseconds, `memory` in bytes. */
  readonly type: 'duration' | 'memory' | 'int' | 'number';
  /** `null`: not set. */
  readonly default: number | null;
  /** Accepts `none` (that is, `null`) although it has a default. */
  readonly nullable?: true;
  readonly min?: number;
  readonly max?: number;
  /** Larger values are lowered to this. */
  readonly cap?: number;
  /** May stand before the number: `every 5`. */
  readonly word?: string;
}
interface BooleanOption extends OptionFacts {
  readonly type: 'boolean';
  readonly default: boolean;
}
interface StringOption extends OptionFacts {
  readonly type: 'string';
  readonly default: string | null;
}
interface EnumOption extends OptionFacts {
  readonly type: 'enum';
  /** Spelt as in Flink; case, `-` and `_` do not matter in what is given. */
  readonly values: readonly string[];
  readonly default: string | null;
  readonly unsupportedValues?: readonly string[];
  /** Further spellings, in lower case with `-`. */
  readonly synonyms?: Readonly<Record<string, string>>;
}
/** What is known of one option. Options whose default is `null` accept `none`. */
export type ConfigOption = NumericOption | BooleanOption | StringOption | EnumOption;

type Options = typeof CHECKPOINT_OPTIONS & typeof RUNTIME_OPTIONS & typeof LATER_OPTIONS;

/** A configuration key. */
export type ConfigKey = keyof Options;

type OrNull<O> = O extends { readonly default: null } | { readonly nullable: true } ? null : never;
type ValueOf<O> =
  | OrNull<O>
  | (O extends { readonly type: 'enum'; readonly values: readonly (infer V)[] }
      ? V
      : O extends { readonly type: 'boolean' }
        ? boolean
        : O extends { readonly type: 'string' }
          ? string
          : number);
type InputOf<O> =
  | OrNull<O>
  | (O extends { readonly type: 'duration' }
      ? Duration
      : O extends { readonly type: 'memory' }
        ? number | string
        : O extends { readonly word: infer W extends string }
          ? number | `${W} ${number}`
          : ValueOf<O>);

/** What `get(key)` gives: durations in milliseconds, sizes in bytes, `null` where not set. */
export type ConfigValue<K extends ConfigKey> = ValueOf<Options[K]>;
/** What may be set for a key in code. */
export type ConfigInput<K extends ConfigKey> = InputOf<Options[K]>;
/** Settings in code, by Flink's keys. */
export type ConfigSettings = { readonly [K in ConfigKey]?: ConfigInput<K> };

/** All options, in the order of the reference page. */
export const CONFIG_OPTIONS: Readonly<Record<ConfigKey, ConfigOption>> = {
  ...CHECKPOINT_OPTIONS,
  ...RUNTIME_OPTIONS,
  ...LATER_OPTIONS,
};

/** All keys, in the order of the reference page. */
export const CONFIG_KEYS: readonly ConfigKey[] = Object.keys(CONFIG_OPTIONS) as ConfigKey[];
