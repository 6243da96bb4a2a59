/**
 * Runs the checks on the repository: `node tools/tidy/main.ts` all but the ledger of behaviours,
 * `--ledger` the ledger alone, `--record-floor` records how many files there are to look at.
 * Exit code 1 on any problem.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { formatProblem } from './check.ts';
import type { Check } from './check.ts';
import { CHECKS } from './checks.ts';
import { floorText } from './checks/floor.ts';
import { ledger, ledgerCounts } from './checks/ledger.ts';
import { loadRepository } from './repository.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const repository = loadRepository(root);

function report(checks: readonly Check[]): void {
  let problemCount = 0;
  for (const check of checks) {
    const problems = check.run(repository);
    problemCount += problems.length;
    if (problems.length > 0) console.log(`\n${check.name}:`);
    for (const problem of problems) console.log(`  ${formatProblem(problem)}`);
  }
  const looked = `${repository.paths.length} files, ${repository.sources.length} of them code`;
  console.log(`${problemCount === 0 ? 'tidy' : `${problemCount} problems`} (${looked})`);
  process.exitCode = problemCount === 0 ? 0 : 1;
}

if (process.argv.includes('--record-floor')) {
  writeFileSync(`${root}tools/tidy/floor.json`, floorText(repository));
} else if (process.argv.includes('--ledger')) {
  report([ledger]);
  for (const line of ledgerCounts(repository)) console.log(line);
} else {
  report(CHECKS);
}
