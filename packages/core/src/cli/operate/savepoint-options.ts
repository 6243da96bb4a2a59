/** What the commands that make savepoints share. */
import { parseUserPath } from '../../storage/paths.ts';
import type { Environment } from '../environment.ts';
import { usageError } from '../options.ts';
import type { ParsedOptions } from '../options.ts';

export function formatOf(options: ParsedOptions): 'CANONICAL' | 'NATIVE' {
  const text = options.value('--type') ?? 'canonical';
  const format = text.toUpperCase();
  if (format === 'CANONICAL' || format === 'NATIVE') return format;
  throw usageError(`there is no savepoint format ${text}; it is canonical or native`);
}

/** A path of this machine is made absolute, unless the job runs elsewhere; `null`: the default. */
export function targetDirectory(
  given: string | null | undefined,
  options: ParsedOptions,
  { workingDirectory }: Environment,
): string | null {
  if (given === null || given === undefined || given.trim() === '') return null;
  if (options.has('--jobmanager')) return given;
  return parseUserPath(given, workingDirectory) ?? given;
}
