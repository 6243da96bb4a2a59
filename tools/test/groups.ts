/**
 * The groups of tests and how each is run. Unit tests share one process, which is what makes them
 * quick and is sound because they touch no globals; the others get a process a file. The result is
 * read from a report on disk, so that whatever tests print cannot be mistaken for it. A group that
 * ends without counts, or with an exit code that its counts do not explain, has failed.
 */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runNode } from './command.ts';
import type { Ended } from './command.ts';
import type { Outcome } from './outcome.ts';
import type { ReportLine } from './reporter.ts';

export interface Group {
  readonly name: string;
  readonly patterns: readonly string[];
  /** Left out, since another group runs them. */
  readonly except?: readonly string[];
  readonly options: readonly string[];
  readonly limitMs: number;
  /**
   * Real processes and timers: a test that fails is run once more alone, since a busy machine may
   * have been too slow for it. What passes only then is told by name.
   */
  readonly isTimed?: true;
}

const MINUTE_MS = 60_000;

/** Simulated schedules: no unit is so slow, and those of users' jobs change globals meanwhile. */
const SCHEDULES = [
  'packages/simulation/src/scenarios/*.test.ts',
  'packages/testing/src/simulate/{simulate,examples}.test.ts',
];

export const GROUPS: readonly Group[] = [
  {
    name: 'unit',
    patterns: ['packages/*/src/**/*.test.ts', 'tools/**/*.test.ts'],
    except: SCHEDULES,
    options: ['--test-isolation=none', `--test-timeout=${MINUTE_MS}`],
    limitMs: 5 * MINUTE_MS,
  },
  {
    name: 'simulation',
    patterns: SCHEDULES,
    options: ['--test-concurrency=2', `--test-timeout=${4 * MINUTE_MS}`],
    limitMs: 8 * MINUTE_MS,
  },
  {
    name: 'integration',
    patterns: ['test/{integration,compatibility}/**/*.test.ts'],
    options: ['--test-concurrency=2', `--test-timeout=${3 * MINUTE_MS}`],
    isTimed: true,
    limitMs: 10 * MINUTE_MS,
  },
  {
    name: 'processes',
    patterns: ['test/processes/**/*.test.ts'],
    options: ['--test-concurrency=2', `--test-timeout=${5 * MINUTE_MS}`],
    isTimed: true,
    limitMs: 12 * MINUTE_MS,
  },
  {
    // One process, so that all files share one broker.
    name: 'kafka',
    patterns: ['test/kafka/**/*.test.ts'],
    options: ['--test-isolation=none', `--test-timeout=${4 * MINUTE_MS}`],
    isTimed: true,
    limitMs: 20 * MINUTE_MS,
  },
  {
    // One process, so that all files share one server.
    name: 'postgres',
    patterns: ['test/postgres/**/*.test.ts'],
    options: ['--test-isolation=none', `--test-timeout=${2 * MINUTE_MS}`],
    isTimed: true,
    limitMs: 6 * MINUTE_MS,
  },
  {
    // As for PostgreSQL.
    name: 'redis',
    patterns: ['test/redis/**/*.test.ts'],
    options: ['--test-isolation=none', `--test-timeout=${2 * MINUTE_MS}`],
    isTimed: true,
    limitMs: 5 * MINUTE_MS,
  },
  {
    name: 'guarantees',
    patterns: ['test/guarantees/**/*.test.ts'],
    options: ['--test-isolation=none', `--test-timeout=${3 * MINUTE_MS}`],
    isTimed: true,
    limitMs: 10 * MINUTE_MS,
  },
];

const REPORTER = fileURLToPath(new URL('./reporter.ts', import.meta.url));

/** Runs a group; `null` if it has no files. */
export async function runGroup(root: string, group: Group): Promise<Outcome | null> {
  const files = globSync([...group.patterns], {
    cwd: root,
    exclude: [...(group.except ?? [])],
  }).sort();
  if (files.length === 0) return null;
  const first = await runFiles(root, group, files);
  if (group.isTimed !== true || first.outcome.failed === 0 || first.failedTests.length === 0)
    return first.outcome;
  const again = await runFiles(root, { ...group, options: onlyTests(group, first) }, files);
  const isMended = first.failedTests.every((name) => again.passedTests.has(name));
  if (again.outcome.failed > 0 || !isMended) return first.outcome;
  for (const name of first.failedTests) console.log(`PASSED ONLY AT THE SECOND TRY: ${name}`);
  const { passed, failed } = first.outcome;
  return { ...first.outcome, passed: passed + failed, failed: 0, report: '' };
}

/** Options that run the failed tests alone, one file after the other. */
function onlyTests(group: Group, { failedTests }: GroupRun): readonly string[] {
  const patterns = failedTests.map(
    (name) => `--test-name-pattern=^${name.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')}$`,
  );
  const options = group.options.filter((option) => !option.startsWith('--test-concurrency'));
  return [...options, '--test-concurrency=1', ...patterns];
}

interface GroupRun {
  readonly outcome: Outcome;
  readonly failedTests: readonly string[];
  readonly passedTests: ReadonlySet<string>;
}

async function runFiles(root: string, group: Group, files: readonly string[]): Promise<GroupRun> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-test-'));
  const report = join(folder, 'report.ndjson');
  try {
    const reporting = [`--test-reporter=${REPORTER}`, `--test-reporter-destination=${report}`];
    const args = ['--test', ...group.options, ...reporting, ...files];
    const ended = await runNode(args, { cwd: root, limitMs: group.limitMs });
    const lines = readReport(report);
    const failedTests = lines.filter((line) => line.kind === 'failure').map(({ name }) => name);
    const passedTests = new Set(
      lines.filter((line) => line.kind === 'pass').map(({ name }) => name),
    );
    return { outcome: outcomeOf(group, ended, lines), failedTests, passedTests };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readReport(path: string): ReportLine[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as ReportLine);
}

/** What a group came to, from how its process ended and what the report says. */
export function outcomeOf(group: Group, ended: Ended, lines: readonly ReportLine[]): Outcome {
  const failures = lines.filter((line) => line.kind === 'failure');
  const counts = lines.find((line) => line.kind === 'counts');
  const told = failures.map((failure) => `✖ ${failure.name}\n${failure.text}\n`);
  const passed = counts?.passed ?? 0;
  let failed = counts?.failed ?? 0;
  const count = passed + failed + lines.filter((line) => line.kind === 'notRun').length;
  const died = diedOf(group, ended, counts === undefined, count);
  if (died !== null) told.push(`✖ ${died}\n`);
  failed = Math.max(failed + (died === null ? 0 : 1), failures.length);
  const notRun = lines.filter((line) => line.kind === 'notRun');
  const report = failed === 0 ? '' : `${told.join('\n')}${printed(ended.output)}`;
  return {
    name: group.name,
    passed,
    failed,
    report,
    notRun: notRun.map(({ name, reason }) => `${name} (${reason})`),
  };
}

function diedOf(group: Group, ended: Ended, isCut: boolean, count: number): string | null {
  if (ended.timedOut) return `${group.name} tests ran longer than ${group.limitMs / 1000} s`;
  if (isCut) return `${group.name} tests ended before their counts (exit code ${ended.code})`;
  if (count === 0) return `${group.name} tests: there are files but no test in them`;
  return null;
}

function printed(output: string): string {
  return output.trim() === '' ? '' : `\nprinted by the tests:\n${output}`;
}
