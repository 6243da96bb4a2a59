/** What a step of the test run came to, and how it is told. */
export interface Outcome {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  /** What a reader needs to mend the failures; empty if there are none. */
  readonly report: string;
  /** Tests that could not run on this machine, with the reason; absent: none. */
  readonly notRun?: readonly string[];
}

/** A step that is one test. */
export function single(name: string, report: string | null): Outcome {
  const failed = report === null ? 0 : 1;
  return { name, passed: 1 - failed, failed, report: report ?? '' };
}

/** The sum of all outcomes in the form that ends every test run. */
export function totalLine(outcomes: readonly Outcome[]): string {
  const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0);
  const failed = outcomes.reduce((sum, outcome) => sum + outcome.failed, 0);
  return `${passed} passed, ${failed} failed`;
}
