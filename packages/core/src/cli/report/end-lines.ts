/** The last lines of a run: how it ended, and how to go on from there. Pure. */
import { MASK } from '../../base/mask-secrets.ts';
import type { RunOutcome } from '../run-contract.ts';
import { formatElapsed, formatNumberOf } from '../text/format.ts';
import type { Style } from '../text/style.ts';

/** `resumeCommand`: what continues the run, ready to be pasted. */
export function endLines(
  outcome: RunOutcome,
  resumeCommand: string,
  style: Style,
): readonly string[] {
  const facts = factsOf(outcome);
  switch (outcome.status) {
    case 'FINISHED':
      if (outcome.savepoint !== null)
        return [
          `${style.good('stopped with a savepoint')} ${facts}`,
          `state is kept in ${outcome.savepoint}`,
          `go on from it with: ${fromSavepoint(resumeCommand, outcome.savepoint)}`,
          ...whatIsMasked(resumeCommand),
        ];
      return [`${style.good('finished')} ${facts}`];
    case 'ALREADY_FINISHED':
      // The run has said so itself.
      return [];
    case 'CANCELED':
      return [`${style.warning('cancelled')} ${facts}`];
    case 'SUSPENDED':
      return [`${style.warning('stopped')} ${facts}`, ...howToResume(outcome, resumeCommand)];
    case 'FAILED':
      return [`${style.bad('failed')} ${facts}`, ...howToResume(outcome, resumeCommand)];
  }
}

/** A new run, since this one has ended. */
function fromSavepoint(command: string, path: string): string {
  return command.replace(/^weir run/, `weir run -s ${path}`);
}

function factsOf({ durationMs, completedCheckpoints, restarts }: RunOutcome): string {
  const checkpoints = formatNumberOf(completedCheckpoints, 'checkpoint');
  const after = `after ${formatElapsed(durationMs)}: ${checkpoints}`;
  return restarts === 0 ? after : `${after}, ${formatNumberOf(restarts, 'restart')}`;
}

function howToResume({ latestCheckpoint }: RunOutcome, command: string): readonly string[] {
  const how =
    latestCheckpoint === null
      ? ['no checkpoint was completed', `run again: ${command}`]
      : [`state is kept in ${latestCheckpoint}`, `resume with: ${command}`];
  return [...how, ...whatIsMasked(command)];
}

function whatIsMasked(command: string): readonly string[] {
  return command.includes(MASK) ? [`${MASK} stands for a secret: give it as before`] : [];
}
