/** All scenarios by name, for the command line and for CI. */
import { PATTERNS } from './patterns.ts';
import { SAVEPOINT_SCENARIOS } from './savepoint-scenarios.ts';
import { KAFKA, RANDOM } from './scenario.ts';
import type { Scenario } from './scenario.ts';
import { SHORT_SCENARIOS } from './short.ts';

export const SCENARIOS: readonly Scenario[] = [
  RANDOM,
  KAFKA,
  ...SHORT_SCENARIOS,
  ...PATTERNS,
  ...SAVEPOINT_SCENARIOS,
];

export function scenarioNamed(name: string): Scenario {
  const scenario = SCENARIOS.find((it) => it.name === name);
  if (scenario !== undefined) return scenario;
  throw new Error(`no scenario is called ${name}: ${SCENARIOS.map((it) => it.name).join(', ')}`);
}
