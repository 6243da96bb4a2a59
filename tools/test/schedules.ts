/**
 * Schedules of the simulation that nobody has run before: which seeds they are drawn from follows
 * from the commit, so that each change is tried on new ones, and can be tried again.
 */
import { runNode } from './command.ts';
import { single } from './outcome.ts';
import type { Outcome } from './outcome.ts';

const COUNT = 5000;
/** On a machine that is slow, or busy with something else, they are fewer. */
const SECONDS = 240;
/** What was begun by then is run to its end, which on such a machine takes its time too. */
const LIMIT_MS = 15 * 60_000;

export async function scheduleOutcome(root: string): Promise<Outcome> {
  const args = ['--fresh', '--seeds', String(COUNT), '--seconds', String(SECONDS)];
  const { code, output } = await runNode(['tools/sim/main.ts', ...args], {
    cwd: root,
    limitMs: LIMIT_MS,
    told: (text) => process.stdout.write(text),
  });
  return single('fresh schedules of the simulation', code === 0 ? null : output);
}
