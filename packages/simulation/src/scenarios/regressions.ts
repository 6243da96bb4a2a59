/**
 * Seeds that have failed, with what was wrong in the engine when they did. A seed keeps its meaning
 * only while what is drawn from it stays as it is: after a change there, this list begins anew.
 */
export interface Regression {
  readonly seed: number;
  readonly found: string;
}

/** None since the jobs became smaller and every third schedule aims at a resume. */
export const REGRESSIONS: readonly Regression[] = [];
