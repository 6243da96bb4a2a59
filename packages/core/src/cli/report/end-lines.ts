/** The last lines of a run: how it ended, and how to go on from there. Pure. */
import type { RunOutcome } from '../run-contract.ts';
import { formatElapsed, formatNumberOf } from '../text/format.ts';
import type { Style } from '../text/style.ts';

/** Command lines ready to be pasted. */
export interface ResumeCommands {
  /** Goes on from the newest checkpoint of this run. */
  readonly resume: string;
  /** Does the same as this run was asked for: for a run that has no checkpoint yet. */
  readonly again: string;
}

export function endLines(
  outcome: RunOutcome,
  commands: ResumeCommands,
  style: Style,
): readonly string[] {
  const facts = factsOf(outcome);
  switch (outcome.status) {
    case 'FINISHED':
      return [`${style.good('finished')} ${facts}`];
    case 'ALREADY_FINISHED':
      // The run has said so itself.
      return [];
    case 'CANCELED':
      return [`${style.warning('cancelled')} ${facts}`];
    case 'SUSPENDED':
      return [`${style.warning('stopped')} ${facts}`, ...howToResume(outcome, commands)];
    case 'FAILED':
      return [`${style.bad('failed')} ${facts}`, ...howToResume(outcome, commands)];
  }
}

function factsOf({ durationMs, completedCheckpoints, restarts }: RunOutcome): string {
  const checkpoints = formatNumberOf(completedCheckpoints, 'checkpoint');
  const after = `after ${formatElapsed(durationMs)}: ${checkpoints}`;
  return restarts === 0 ? after : `${after}, ${formatNumberOf(restarts, 'restart')}`;
}

function howToResume(
  { latestCheckpoint }: RunOutcome,
  { resume, again }: ResumeCommands,
): readonly string[] {
  if (latestCheckpoint === null)
    return ['no checkpoint was completed', `start again with: ${again}`];
  return [`state is kept in ${latestCheckpoint}`, `resume with: ${resume}`];
}
