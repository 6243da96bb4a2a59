/** Broken rules, in words: what was seen, and what a sink has to do. */
import { shown } from '../simulate/canonical.ts';

const NAMED_MAX = 5;

export const MISSING: string =
  'What was written before a checkpoint must reach the system: `durable` of prepareCommit ' +
  'resolves only when it has, and rejects when it has not; recover commits what the checkpoint ' +
  'holds';
export const REPEATED: string =
  'What was written once must be seen once: commit and recover are given committables again that ' +
  'are committed already, and must leave these alone (by a name or a number of each that the ' +
  'system knows), and recover removes what no checkpoint promised';
export const LEFT_BEHIND: string =
  'What a dead process has begun is removed by recover, which is told the attempts that are dead';
export const PART: string =
  'recover may be for some subtasks alone: what the others have begun is not dead, whatever its ' +
  'attempt';
export const TOO_EARLY: string =
  'Nothing may be seen before commit, which comes when the checkpoint is complete';

/** Broken rules, in words. */
export class ConformanceError extends Error {
  override readonly name = 'ConformanceError';
}

export function named(what: string, records: readonly unknown[]): string {
  if (records.length === 0) return '';
  const more = records.length > NAMED_MAX ? ' …' : '';
  return `${what}: ${records.slice(0, NAMED_MAX).map(shown).join(', ')}${more}`;
}
