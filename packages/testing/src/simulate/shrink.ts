/**
 * Makes a failing schedule shorter, as long as it still fails: leaves faults out, one at a time,
 * then changes of parallelism, and puts a kill in the place of what does the same less plainly;
 * over and over until nothing more can go. What is left is what the failure needs.
 */
import { restartsTasks } from './fault-words.ts';
import type { RunPlan } from './run-plan.ts';
import type { RunOutcome } from './simulated-run.ts';

export interface Shrunk<F> {
  readonly outcome: RunOutcome;
  readonly failure: F;
  readonly tried: number;
}

/** Each costs a run; a plan of many faults may stay longer than it must. */
const TRIES_MAX = 80;

/** `failureOf`: what is wrong with a run; `null`: nothing. */
export async function shrink<F>(
  first: { readonly outcome: RunOutcome; readonly failure: F },
  run: (plan: RunPlan) => Promise<RunOutcome>,
  failureOf: (outcome: RunOutcome) => F | null,
): Promise<Shrunk<F>> {
  let best = first;
  let tried = 1;
  const fails = async (change: Partial<RunPlan>): Promise<boolean> => {
    if (tried >= TRIES_MAX) return false;
    tried++;
    const outcome = await run({ ...best.outcome.plan, ...change });
    const failure = failureOf(outcome);
    if (failure !== null) best = { outcome, failure };
    return failure !== null;
  };
  let isShorter = !(await fails({ faults: [] }));
  while (isShorter) {
    isShorter = false;
    for (let index = best.outcome.plan.faults.length - 1; index >= 0; index--)
      isShorter =
        (await fails({ faults: best.outcome.plan.faults.toSpliced(index, 1) })) || isShorter;
    for (const [index, fault] of best.outcome.plan.faults.entries())
      if (restartsTasks(fault) && fault.type !== 'kill') {
        const kill = { type: 'kill', at: fault.at } as const;
        const faults = best.outcome.plan.faults.with(index, kill);
        isShorter = (await fails({ faults })) || isShorter;
      }
    isShorter = (await withFewerParallelisms(best.outcome.plan, fails)) || isShorter;
  }
  await withFewerParallelisms(best.outcome.plan, fails);
  return { ...best, tried };
}

async function withFewerParallelisms(
  { parallelisms }: RunPlan,
  fails: (change: Partial<RunPlan>) => Promise<boolean>,
): Promise<boolean> {
  for (const fewer of [[1], parallelisms.slice(0, 1), parallelisms.slice(0, 2)]) {
    const isSimpler =
      fewer.length < parallelisms.length || (fewer[0] ?? 1) < (parallelisms[0] ?? 1);
    if (isSimpler && (await fails({ parallelisms: fewer }))) return true;
  }
  return false;
}
