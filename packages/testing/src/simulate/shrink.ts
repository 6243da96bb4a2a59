/**
 * Makes a failing schedule shorter: leaves faults out, one at a time, then changes of parallelism,
 * as long as it still fails; what is left is what the failure needs. A kill is put in the place of
 * what does the same less plainly.
 */
import { restartsTasks } from './fault-words.ts';
import type { RunOutcome } from './simulated-run.ts';
import type { RunPlan } from './run-plan.ts';

export interface Shrunk<F> {
  readonly outcome: RunOutcome;
  readonly failure: F;
  readonly tried: number;
}

/** `failureOf`: what is wrong with a run; `null`: nothing. */
export async function shrink<F>(
  first: { readonly outcome: RunOutcome; readonly failure: F },
  run: (plan: RunPlan) => Promise<RunOutcome>,
  failureOf: (outcome: RunOutcome) => F | null,
): Promise<Shrunk<F>> {
  let best = first;
  let tried = 1;
  const fails = async (change: Partial<RunPlan>): Promise<boolean> => {
    tried++;
    const outcome = await run({ ...best.outcome.plan, ...change });
    const failure = failureOf(outcome);
    if (failure !== null) best = { outcome, failure };
    return failure !== null;
  };
  if (!(await fails({ faults: [] }))) {
    for (let index = best.outcome.plan.faults.length - 1; index >= 0; index--)
      await fails({ faults: best.outcome.plan.faults.toSpliced(index, 1) });
  }
  for (const [index, fault] of best.outcome.plan.faults.entries())
    if (restartsTasks(fault) && fault.type !== 'kill')
      await fails({
        faults: best.outcome.plan.faults.with(index, { type: 'kill', at: fault.at }),
      });
  const { parallelisms } = best.outcome.plan;
  const simpler = [[1], parallelisms.slice(0, 1), parallelisms.slice(0, 2)];
  for (const fewer of simpler)
    if (fewer.join() !== parallelisms.join() && (await fails({ parallelisms: fewer }))) break;
  return { ...best, tried };
}
