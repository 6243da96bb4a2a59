/** The command line that goes on after a run, made of the one that started it, without secrets. */
import { maskArguments, maskValue } from '../base/mask-secrets.ts';
import { RUN } from './commands.ts';
import type { ParsedOptions } from './options.ts';

/** Options that choose the state to start with: a run that began keeps to what it began with. */
const ABOUT_START = ['--fresh', '--append', '--fromSavepoint', '--claimMode', '--restoreMode'];

export function resumeCommand(options: ParsedOptions): string {
  const given = RUN.options.flatMap(({ short, long, value }) => {
    const name = long ?? short!;
    if (ABOUT_START.includes(name)) return [];
    if (value === undefined) return options.has(name) ? [name] : [];
    const glue = long === undefined ? '' : ' ';
    const shown = options.values(name).map((text) => shellWord(maskValue(text)));
    return shown.map((word) => `${short ?? name}${glue}${word}`);
  });
  const [jobPath = '', ...jobArguments] = options.words;
  const words = [jobPath, ...maskArguments(jobArguments)];
  return ['weir run', ...given, ...words.map(shellWord)].join(' ');
}

/** Quoted for a POSIX shell where it has to be. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
