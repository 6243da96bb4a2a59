/** Seeds that have failed, with what was wrong in the engine when they did. */
export interface Regression {
  readonly seed: number;
  readonly found: string;
}

export const REGRESSIONS: readonly Regression[] = [
  { seed: 104, found: 'a finished vertex ran again at another parallelism' },
  { seed: 123, found: 'a run resumed from what an outdated leader had published' },
  { seed: 426, found: 'an end was committed with an earlier checkpoint' },
  { seed: 162, found: 'a closed file sink created a file' },
  { seed: 2356, found: 'a run relied on a snapshot that was not durable' },
  { seed: 4328, found: 'a task took an end behind the barrier for part of its snapshot' },
  { seed: 5246, found: 'a task finished before its producer' },
  { seed: 10081, found: 'a checkpoint promised what an earlier one had not made durable' },
];
