/**
 * Reads the words of a command line by a table of options. As with Flink's client, every option
 * works with one or two dashes; `-p4`, `-p 4`, `--parallelism 4` and `--parallelism=4` are the
 * same; and for commands about a job, whatever stands behind the job file belongs to the job.
 */
import { parseArgs } from 'node:util';
import { JobSubmissionError } from '../base/errors.ts';
import { didYouMean } from '../base/nearest.ts';

export interface OptionSpec {
  /** Such as `-p`; several letters are possible, as in `-cm`. */
  readonly short?: string;
  /** Such as `--parallelism`. */
  readonly long?: string;
  /** What its value is, for help texts; without, the option is a switch. */
  readonly value?: string;
  /** The value may be left out: it is then the empty text. */
  readonly optional?: true;
  /** May be given several times. */
  readonly repeated?: true;
  /** For `weir help`. */
  readonly text: string;
}

export interface ParsedOptions {
  has(option: string): boolean;
  /** The last value given. */
  value(option: string): string | null;
  /** All values given, in order. */
  values(option: string): readonly string[];
  /** The words that are no options. */
  readonly words: readonly string[];
}

export interface RefusedOption {
  /** Matches the option with one dash and without a value. */
  readonly form: RegExp;
  /** What to do instead. */
  readonly answer: string;
}

export interface ParseRules {
  /** For messages: `weir run`. */
  readonly command: string;
  readonly options: readonly OptionSpec[];
  /** Everything from the first word that is no option on is left alone. */
  readonly stopAtWord?: true;
  /**
   * Behind so many words come those of the job. The command's own options are taken before, between
   * and directly behind the words; from the first other one on, or from `--`, all is left alone.
   */
  readonly wordsBeforeJobArguments?: number;
  /** Answers for options of Flink that have no place here. */
  readonly refused?: readonly RefusedOption[];
}

/** @throws JobSubmissionError ARGUMENT_INVALID, naming the option. */
export function parseOptions(args: readonly string[], rules: ParseRules): ParsedOptions {
  const normalized = args.map((word, index) =>
    withoutValue(withTwoDashes(word, rules.options), args[index + 1], rules.options),
  );
  const end = endOfOwn(tokensOf(normalized, rules.options), rules) ?? args.length;
  const tokens = tokensOf(normalized.slice(0, end), rules.options);

  const found = new Map<string, string[]>();
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    const word = args[token.index]!.replace(/=.*$/s, '');
    refuseIfListed(word, rules);
    const option = rules.options.find((spec) => nameOf(spec) === token.name);
    if (option === undefined) throw unknownOption(word, rules);
    const value = valueOf(token, option, rules);
    found.set(token.name, [...(found.get(token.name) ?? []), value]);
  }
  return {
    has: (option) => found.has(bare(option)),
    value: (option) => found.get(bare(option))?.at(-1) ?? null,
    values: (option) => found.get(bare(option)) ?? [],
    words: [...words, ...args.slice(args[end] === '--' ? end + 1 : end)],
  };
}

/** Where the words begin that are left alone; `null`: nowhere. */
function endOfOwn(
  tokens: readonly Token[],
  { stopAtWord, wordsBeforeJobArguments, options }: ParseRules,
): number | null {
  if (stopAtWord === true) return tokens.find(({ kind }) => kind === 'positional')?.index ?? null;
  let left = wordsBeforeJobArguments ?? Infinity;
  for (const token of tokens) {
    const isOwn = token.kind === 'option' && options.some((spec) => nameOf(spec) === token.name);
    if (left === 0 && !isOwn) return token.index;
    if (token.kind === 'positional') left--;
  }
  return null;
}

export function usageError(message: string): JobSubmissionError {
  return new JobSubmissionError(message, { code: 'ARGUMENT_INVALID' });
}

type Token = NonNullable<ReturnType<typeof parseArgs>['tokens']>[number];
type OptionToken = Token & { readonly kind: 'option' };

function tokensOf(args: readonly string[], options: readonly OptionSpec[]): readonly Token[] {
  const config = options.map((option) => {
    const type = option.value === undefined ? ('boolean' as const) : ('string' as const);
    const isLetter = option.short?.length === 2;
    const short = isLetter ? { short: bare(option.short ?? '') } : {};
    return [nameOf(option), { type, ...short, multiple: true }] as const;
  });
  return parseArgs({
    args: [...args],
    options: Object.fromEntries(config),
    strict: false,
    allowPositionals: true,
    tokens: true,
  }).tokens;
}

/** `-parallelism 4` as Flink accepts it; what is no known option stays as it is. */
function withTwoDashes(word: string, options: readonly OptionSpec[]): string {
  const name = /^-([A-Za-z][\w-]+)(?:=|$)/.exec(word)?.[1];
  if (name === undefined) return word;
  if (options.some(({ long }) => long === `--${name}`)) return `-${word}`;
  // Such as `-cm`, for which a parser of single letters has no place.
  const option = options.find(({ short }) => short === `-${name}`);
  return option === undefined ? word : word.replace(`-${name}`, `--${nameOf(option)}`);
}

/** An option with an optional value does not swallow the option behind it. */
function withoutValue(
  word: string,
  next: string | undefined,
  options: readonly OptionSpec[],
): string {
  const isFollowed = next !== undefined && !next.startsWith('-');
  const option = options.find(({ short, long }) => word === short || word === long);
  return option?.optional !== true || isFollowed ? word : `--${nameOf(option)}=`;
}

function valueOf(token: OptionToken, option: OptionSpec, rules: ParseRules): string {
  const name = token.rawName;
  if (option.value === undefined) {
    if (token.value === undefined) return '';
    throw usageError(`${rules.command}: ${name} is a switch and takes no value`);
  }
  const { value, inlineValue } = token;
  if (option.optional === true && value === '') return '';
  const isMissing = value === undefined || value === '' || (!inlineValue && value.startsWith('-'));
  if (!isMissing) return value;
  throw usageError(`${rules.command}: ${name} needs a value: ${name} ${option.value}`);
}

function refuseIfListed(name: string, { command, refused }: ParseRules): void {
  const found = refused?.find(({ form }) => form.test(`-${bare(name)}`));
  if (found !== undefined) throw usageError(`${command} ${name}: ${found.answer}`);
}

function unknownOption(name: string, rules: ParseRules): JobSubmissionError {
  const known = rules.options.flatMap(({ short, long }) =>
    [short, long].filter((one) => one !== undefined),
  );
  const help = `; see: weir help ${rules.command.split(' ').at(-1)}`;
  const suggestion = didYouMean(name, known);
  return usageError(`${rules.command}: there is no option ${name}${suggestion || help}`);
}

function nameOf(option: OptionSpec): string {
  return bare(option.long ?? option.short ?? '');
}

function bare(option: string): string {
  return option.replace(/^--?/, '');
}
