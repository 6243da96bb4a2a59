/** The command line that goes on after a run, made from the one that started it. */
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
    return options.values(name).map((text) => `${short ?? name}${glue}${shellWord(text)}`);
  });
  return ['weir run', ...given, ...options.words.map(shellWord)].join(' ');
}

/** Quoted for a POSIX shell where it has to be. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
