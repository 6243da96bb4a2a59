/** Command lines for going on after a run, made from the one that started it. */
import { RUN } from './commands.ts';
import type { ParsedOptions } from './options.ts';
import type { ResumeCommands } from './report/end-lines.ts';

/** Options that choose the state to start with: the resumed run has state of its own. */
const ABOUT_START = ['--fresh', '--append', '--fromSavepoint'];

export function resumeCommands(options: ParsedOptions): ResumeCommands {
  const ignored = options.has('--fromSavepoint')
    ? [...ABOUT_START, '--allowNonRestoredState']
    : ABOUT_START;
  return { resume: commandLineOf(options, ignored), again: commandLineOf(options, []) };
}

function commandLineOf(options: ParsedOptions, ignored: readonly string[]): string {
  const given = RUN.options.flatMap(({ short, long, value }) => {
    const name = long ?? short!;
    if (ignored.includes(name)) return [];
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
