/**
 * Reporter for `node --test`, read by tools/test: one JSON line for each test and one with the
 * final counts. A failure of a suite that only repeats that one of its tests failed is left out.
 */
import { inspect } from 'node:util';
import type { TestEvent } from 'node:test/reporters';

/** A line of the report: a test that ran, or the counts at the end. */
export type ReportLine =
  | { readonly kind: 'failure'; readonly name: string; readonly text: string }
  | { readonly kind: 'pass'; readonly name: string }
  /** A test that could not run here, and says so; in continuous integration it fails instead. */
  | { readonly kind: 'notRun'; readonly name: string; readonly reason: string }
  | { readonly kind: 'counts'; readonly passed: number; readonly failed: number };

export default async function* reporter(
  events: AsyncIterable<TestEvent>,
): AsyncGenerator<string, void> {
  for await (const event of events) {
    const line = lineOf(event);
    if (line !== null) yield `${JSON.stringify(line)}\n`;
  }
}

/** How the reason of a test begins that needs what this machine does not have. */
const NOT_RUN = 'NOT RUN: ';
let notRun = 0;

function lineOf(event: TestEvent): ReportLine | null {
  if (event.type === 'test:fail') {
    const { name, file, line, details } = event.data;
    const error = details.error as Error & { failureType?: string };
    if (error.failureType === 'subtestsFailed') return null;
    const place = file === undefined ? '' : `\n${file}:${line}`;
    return { kind: 'failure', name, text: `${inspect(error.cause ?? error)}${place}` };
  }
  if (event.type === 'test:pass') {
    const { name, skip } = event.data;
    if (typeof skip !== 'string') return { kind: 'pass', name };
    if (!skip.startsWith(NOT_RUN)) return null;
    notRun++;
    return { kind: 'notRun', name, reason: skip.slice(NOT_RUN.length) };
  }
  if (event.type !== 'test:summary' || event.data.file !== undefined) return null;
  const { tests, passed } = event.data.counts;
  // What was skipped or cancelled counts as failed: a result must not look better for testing less.
  return { kind: 'counts', passed, failed: tests - passed - notRun };
}
