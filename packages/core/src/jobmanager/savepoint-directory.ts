/** Where a savepoint goes that somebody asks for. */
import { JobSubmissionError } from '../base/errors.ts';
import { parseUserPath, userPathAdvice } from '../storage/paths.ts';

/** `asked` wins over `configured`; both as a user writes them: a path or a `file:` URI. */
export function savepointDirectory(
  asked: string | null,
  configured: string | null,
  workingDirectory: string,
): string {
  const given = asked ?? configured;
  if (given === null || given.trim() === '')
    throw new JobSubmissionError(
      'no folder is named for the savepoint, and execution.checkpointing.savepoint-dir is not ' +
        'set: name one',
      { code: 'ARGUMENT_INVALID' },
    );
  const path = parseUserPath(given, workingDirectory);
  if (path !== null) return path;
  const source = asked === null ? 'execution.checkpointing.savepoint-dir: ' : '';
  throw new JobSubmissionError(
    `${source}${given} is not a path that Weir can write to: ${userPathAdvice(given)}`,
    { code: 'ARGUMENT_INVALID' },
  );
}
