/** The checks of a test run beside its tests: tidy, types, lint, format, dead code. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { formatProblem } from '../tidy/check.ts';
import { CHECKS } from '../tidy/checks.ts';
import { ledger, ledgerCounts } from '../tidy/checks/ledger.ts';
import { loadRepository } from '../tidy/repository.ts';
import { runNode } from './command.ts';
import { single } from './outcome.ts';
import type { Outcome } from './outcome.ts';

const TOOLS: Readonly<Record<string, readonly string[]>> = {
  'the types fit': ['typescript/bin/tsc', '--noEmit'],
  'the linter has no complaint': ['oxlint/bin/oxlint'],
  'all files are formatted': ['oxfmt/bin/oxfmt', '--check'],
  'no export, file or dependency is unused': [
    'knip/bin/knip.js',
    '--no-progress',
    '--no-config-hints',
  ],
};
const LIMIT_MS = 300_000;

/** One outcome a check of the repository. */
export function tidyOutcomes(root: string): Outcome[] {
  const repository = loadRepository(root);
  return CHECKS.map((check) => {
    const problems = check.run(repository).map((problem) => `${formatProblem(problem)}\n`);
    return single(check.name, problems.length === 0 ? null : problems.join(''));
  });
}

/** The ledger of behaviours, with its counts in the name. */
export function ledgerOutcome(root: string): Outcome {
  const repository = loadRepository(root);
  const problems = ledger.run(repository).map((problem) => `${formatProblem(problem)}\n`);
  const name = `${ledger.name} (${ledgerCounts(repository).join('; ')})`;
  return single(name, problems.length === 0 ? null : problems.join(''));
}

/** One outcome a tool. */
export async function toolOutcomes(root: string): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const [name, [script = '', ...args]] of Object.entries(TOOLS)) {
    const path = join(root, 'node_modules', script);
    if (!existsSync(path)) {
      outcomes.push(single(name, `${script} is not installed: run npm ci\n`));
      continue;
    }
    const { code, output } = await runNode([path, ...args], { cwd: root, limitMs: LIMIT_MS });
    outcomes.push(single(name, code === 0 ? null : output));
  }
  return outcomes;
}
