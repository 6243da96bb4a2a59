/**
 * The one test command: `npm test` runs everything, `npm test -- PART…` only the parts named
 * (checks, ledger, unit, simulation, integration, processes, kafka, postgres, redis, guarantees,
 * schedules). Quiet about what passes, full about what fails; the last line is always `N passed, N
 * failed`. Exit code 1 on any failure.
 */
import { fileURLToPath } from 'node:url';
import { ledgerOutcome, tidyOutcomes, toolOutcomes } from './checks.ts';
import { GROUPS, runGroup } from './groups.ts';
import { totalLine } from './outcome.ts';
import { scheduleOutcome } from './schedules.ts';
import type { Outcome } from './outcome.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

const PARTS: Readonly<Record<string, () => Promise<Outcome[]>>> = {
  checks: async () => [...tidyOutcomes(root), ...(await toolOutcomes(root))],
  ...Object.fromEntries(
    GROUPS.map((group) => [
      group.name,
      async () => {
        const outcome = await runGroup(root, group);
        return outcome === null ? [] : [outcome];
      },
    ]),
  ),
  schedules: async () => [await scheduleOutcome(root)],
  ledger: async () => [ledgerOutcome(root)],
};

async function main(names: readonly string[]): Promise<void> {
  const unknown = names.find((name) => PARTS[name] === undefined);
  if (unknown !== undefined) {
    console.error(`no part is called '${unknown}': ${Object.keys(PARTS).join(', ')}`);
    process.exitCode = 2;
    return;
  }
  const outcomes: Outcome[] = [];
  for (const name of names.length === 0 ? Object.keys(PARTS) : names) {
    const started = performance.now();
    const found = (await PARTS[name]?.()) ?? [];
    for (const failure of found.filter((outcome) => outcome.failed > 0))
      console.log(`\n✖ ${failure.name}\n${failure.report}`);
    for (const outcome of found)
      for (const test of outcome.notRun ?? []) console.log(`NOT RUN: ${test}`);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${name}: ${totalLine(found)} (${seconds} s)`);
    outcomes.push(...found);
  }
  process.exitCode = outcomes.some((outcome) => outcome.failed > 0) ? 1 : 0;
  console.log(totalLine(outcomes));
}

await main(process.argv.slice(2));
