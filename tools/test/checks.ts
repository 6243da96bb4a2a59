/** The checks of a test run beside its tests: tidy, types, lint, format, dead code. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { formatProblem } from '../tidy/check.ts';
import { CHECKS } from '../tidy/checks.ts';
import { ledger, ledgerCounts } from '../tidy/checks/ledger.ts';
import { loadRepository } from '../tidy/repository.ts';
import { runNode } from './command.ts';
import type { Ended } from './command.ts';
import { single } from './outcome.ts';
import type { Outcome } from './outcome.ts';

interface Tool {
  readonly name: string;
  readonly script: string;
  readonly args: readonly string[];
  /** How many files it says it looked at; absent where it does not say. */
  readonly looked?: (output: string) => number;
  /** The sources it must have looked at; by default all. */
  readonly covers?: (path: string) => boolean;
}

const TOOLS: readonly Tool[] = [
  {
    name: 'the types fit',
    script: 'typescript/bin/tsc',
    args: ['--noEmit', '--listFiles'],
    looked: (output) => output.split('\n').filter(isProjectFile).length,
    covers: (path) => !isExample(path),
  },
  {
    // Apart, since a job's file need not declare the type of what it exports.
    name: 'the types of the examples fit',
    script: 'typescript/bin/tsc',
    args: ['--noEmit', '--listFiles', '-p', 'examples'],
    looked: (output) => output.split('\n').filter(isProjectFile).length,
    covers: isExample,
  },
  {
    name: 'the linter has no complaint',
    script: 'oxlint/bin/oxlint',
    args: [],
    looked: (output) => Number(/ on (\d+) files/.exec(output)?.[1] ?? 0),
  },
  { name: 'all files are formatted', script: 'oxfmt/bin/oxfmt', args: ['--check'] },
  {
    name: 'no export, file or dependency is unused',
    script: 'knip/bin/knip.js',
    args: ['--no-progress', '--no-config-hints'],
  },
];
const LIMIT_MS = 300_000;

function isExample(path: string): boolean {
  return path.startsWith('examples/');
}

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

/**
 * One outcome a tool. A tool that looked at fewer files than the project has sources has failed,
 * whatever its exit code: a wrong pattern in its settings would otherwise stay green for ever.
 */
export async function toolOutcomes(root: string): Promise<Outcome[]> {
  const sources = loadRepository(root).paths.filter((path) => path.endsWith('.ts'));
  const outcomes: Outcome[] = [];
  for (const tool of TOOLS) {
    const path = join(root, 'node_modules', tool.script);
    if (!existsSync(path)) {
      outcomes.push(single(tool.name, `${tool.script} is not installed: run npm ci\n`));
      continue;
    }
    const ended = await runNode([path, ...tool.args], { cwd: root, limitMs: LIMIT_MS });
    const covered = sources.filter(tool.covers ?? (() => true));
    outcomes.push(toolOutcome(tool, ended, covered.length));
  }
  return outcomes;
}

/** What a tool's run came to, given how many sources it must have looked at. */
export function toolOutcome(
  tool: Pick<Tool, 'name' | 'looked'>,
  ended: Pick<Ended, 'code' | 'output'>,
  sourceCount: number,
): Outcome {
  if (ended.code !== 0) {
    const told = ended.output.split('\n').filter((line) => !FILE.test(line));
    return single(tool.name, told.join('\n'));
  }
  const looked = tool.looked?.(ended.output) ?? sourceCount;
  if (looked >= sourceCount) return single(tool.name, null);
  return single(tool.name, `looked at ${looked} of ${sourceCount} sources: see its settings\n`);
}

/** A line that is nothing but the path of a source, as `tsc --listFiles` prints them. */
const FILE = /^(\/|[A-Z]:).*\.ts$/;

function isProjectFile(line: string): boolean {
  return FILE.test(line) && !line.includes('/node_modules/');
}
