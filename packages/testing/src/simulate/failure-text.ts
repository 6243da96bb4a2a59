/** The message of a failed simulation. */
import { shown } from './canonical.ts';
import type { ChangedRecord, OutputDifference } from './compare-outputs.ts';
import type { SimulationFailure, SimulationFinding } from './simulation-error.ts';

/** Records named of each kind and sink. */
const NAMED_MAX = 3;
/** Lines of the story at the beginning and at the end. */
const STORY_HEAD = 6;
const STORY_TAIL = 18;
/** Columns of a wrapped line. */
const LINE_MAX = 92;

const SUMMARIES: Readonly<Record<SimulationFinding, string>> = {
  'wrong-result': 'other results than without failure',
  'not-deterministic': 'not deterministic: two equal runs gave different results',
  'depends-on-parallelism': 'other results at another parallelism, without any failure',
  'depends-on-order':
    'other results when records and watermarks come in another order, without any failure',
  'unexpected-result': 'other results than expected, without any failure',
  'sets-timers': 'the job set timers of its own',
  'job-failed': 'the job failed',
  'job-not-finished': 'the job did not come to its end',
  engine: 'Weir broke a promise of its own',
};

export interface FailureDetails {
  readonly failure: SimulationFailure;
  /** What the job or the engine said; `null` where only results differ. */
  readonly reason: string | null;
  /** Schedules tried to find the shortest. */
  readonly tried: number;
}

export function failureText({ failure, reason, tried }: FailureDetails): string {
  const { finding, job, seed, differences, story, causes } = failure;
  const where = seed === null ? '' : `, seed ${seed}`;
  const parts = [`job "${job}"${where}: ${SUMMARIES[finding]}`];
  if (reason !== null) parts[0] += `: ${reason}`;
  parts.push(...differences.map(differenceText));
  if (story.length > 0) {
    const shortest = tried > 1 ? ` in the shortest of ${tried} schedules that were tried` : '';
    parts.push(`What happened${shortest}:\n${storyText(story)}`);
  }
  if (causes.length > 0)
    parts.push(
      `${causes.length === 1 ? 'Likely cause' : 'Likely causes'}:\n` +
        causes.map((cause) => `  - ${wrapped(cause)}`).join('\n'),
    );
  if (seed !== null)
    parts.push(`Again: simulate(job, { seed: ${seed}, … }), with the same input and options`);
  return parts.join('\n\n');
}

function differenceText(difference: OutputDifference): string {
  const { sink, comparison, missing, unexpected, changed } = difference;
  const counts = [
    changed.length > 0 ? `${changed.length} changed` : null,
    missing.length > 0 ? `${missing.length} missing` : null,
    unexpected.length > 0 ? `${unexpected.length} not expected` : null,
  ].filter((text) => text !== null);
  const rule =
    comparison === 'exact'
      ? 'each record exactly once'
      : 'writes at once, so repeated records are not counted';
  const { expectedCount, actualCount } = difference;
  return [
    `sink "${sink}" (${rule}): ${counts.join(', ')}; ` +
      `${expectedCount} records expected, ${actualCount} found`,
    ...listed(changed, changedText),
    ...listed(missing, (record) => `  missing       ${shown(record)}`),
    ...listed(unexpected, (record) => `  not expected  ${shown(record)}`),
  ].join('\n');
}

function changedText({ expected, actual, fields }: ChangedRecord): string {
  const came = `       came as  ${shown(actual)}  (${fields.join(', ')})`;
  return `  changed       ${shown(expected)}\n${came}`;
}

function listed<T>(items: readonly T[], text: (item: T) => string): readonly string[] {
  const lines = items.slice(0, NAMED_MAX).map(text);
  const more = items.length - lines.length;
  return more > 0 ? [...lines, `  … and ${more} more`] : lines;
}

/** In lines that fit a terminal, behind a dash. */
function wrapped(text: string): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > LINE_MAX) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join('\n    ');
}

function storyText(story: readonly string[]): string {
  const left = story.length - STORY_HEAD - STORY_TAIL;
  if (left <= 1) return story.join('\n');
  return [
    ...story.slice(0, STORY_HEAD),
    `          … ${left} lines …`,
    ...story.slice(-STORY_TAIL),
  ].join('\n');
}
