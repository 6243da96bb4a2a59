/**
 * The ledger of behaviours: every number of the two lists in `docs/behaviours` stands either in the
 * name of a test, as `[R004]` or `[I-41]`, or on a line of `elsewhere.md` with the reason why there
 * is no test yet; never both, never neither. So nothing that was promised is lost from sight.
 */
import { isTest } from '../check.ts';
import type { Check, Problem } from '../check.ts';
import type { Repository } from '../repository.ts';
import { isNode, nameOf, textOf } from '../source-file.ts';
import type { SourceFile, SyntaxNode } from '../source-file.ts';

export const LISTS: Readonly<Record<string, string>> = {
  reports: 'docs/behaviours/reports.txt',
  semantics: 'docs/behaviours/semantics.txt',
};
const ELSEWHERE = 'docs/behaviours/elsewhere.md';
const NUMBER = /\b(R\d{3}|I-\d{1,3})\b/g;
const TESTS: ReadonlySet<string> = new Set([
  'test',
  'it',
  'describe',
  'suite',
  'brokerTest',
  'postgresTest',
  'ownServerTest',
  'redisTest',
  'ownRedisTest',
]);

export const ledger: Check = {
  name: 'every listed behaviour is a test or has its reason in elsewhere.md',
  run: (repository) => {
    const listed = new Set(Object.values(LISTS).flatMap((list) => numbersOf(repository, list)));
    const tested = testedNumbers(repository);
    const elsewhere = reasons(repository);
    return [
      ...Object.values(LISTS).flatMap((list) => missing(repository, list, tested, elsewhere)),
      ...elsewhere.flatMap((entry) => doubled(entry, tested.get(entry.number))),
      ...[...tested].flatMap(([number, file]) => unlisted(number, file, listed)),
      ...elsewhere.flatMap((entry) => unlisted(entry.number, ELSEWHERE, listed)),
      ...elsewhere.flatMap((entry) => wrongReason(entry, elsewhere)),
    ];
  },
};

/** How many numbers of each list are tests, elsewhere and missing, a line a list. */
export function ledgerCounts(repository: Repository): readonly string[] {
  const tested = testedNumbers(repository);
  const elsewhere = new Set(reasons(repository).map((entry) => entry.number));
  return Object.entries(LISTS).map(([name, list]) => {
    const numbers = numbersOf(repository, list);
    const inTests = numbers.filter((number) => tested.has(number)).length;
    const inList = numbers.filter((number) => !tested.has(number) && elsewhere.has(number)).length;
    const missing = numbers.length - inTests - inList;
    const counts = `${inTests} in tests, ${inList} elsewhere, ${missing} missing`;
    return `${name}: ${numbers.length} behaviours, ${counts}`;
  });
}

interface Reason {
  readonly number: string;
  readonly reason: string;
  readonly line: number;
}

function numbersOf(repository: Repository, list: string): string[] {
  return (repository.text(list) ?? '').split('\n').filter((line) => line !== '');
}

/** Each number that stands in brackets in the name of a test, with a file that holds it. */
function testedNumbers(repository: Repository): ReadonlyMap<string, string> {
  const tested = new Map<string, string>();
  for (const file of repository.sources.filter((source) => isTest(source.path)))
    for (const name of testNames(file))
      for (const [, inBrackets] of name.matchAll(/\[([^\]]*)\]/g))
        for (const number of inBrackets?.match(NUMBER) ?? []) tested.set(number, file.path);
  return tested;
}

function testNames(file: SourceFile): string[] {
  return file.nodes.flatMap(({ node }) => {
    if (node.type !== 'CallExpression') return [];
    const callee = node['callee'];
    const called = isNode(callee) ? (nameOf(callee) ?? nameOf(callee['property'])) : null;
    const [name] = node['arguments'] as SyntaxNode[];
    return TESTS.has(called ?? '') ? (textOf(name) ?? []) : [];
  });
}

function reasons(repository: Repository): Reason[] {
  const lines = (repository.text(ELSEWHERE) ?? '').split('\n');
  return lines.flatMap((line, index) => {
    const match = /^(R\d{3}|I-\d{1,3})\b\s*(.*)$/.exec(line);
    if (match === null) return [];
    return [{ number: match[1] ?? '', reason: match[2] ?? '', line: index + 1 }];
  });
}

/** One problem a list, so that a long list of missing numbers stays readable. */
function missing(
  repository: Repository,
  list: string,
  tested: ReadonlyMap<string, string>,
  elsewhere: readonly Reason[],
): Problem[] {
  const numbers = numbersOf(repository, list);
  if (numbers.length === 0) return [{ file: list, line: 0, message: 'holds no numbers' }];
  const excused = new Set(elsewhere.map((entry) => entry.number));
  const open = numbers.filter((number) => !tested.has(number) && !excused.has(number));
  if (open.length === 0) return [];
  const message = `neither in the name of a test nor in ${ELSEWHERE}: ${open.join(' ')}`;
  return [{ file: list, line: 0, message }];
}

function doubled(entry: Reason, test: string | undefined): Problem[] {
  if (test === undefined) return [];
  const message = `${entry.number} is tested in ${test}: remove this line`;
  return [{ file: ELSEWHERE, line: entry.line, message }];
}

function unlisted(number: string, file: string, listed: ReadonlySet<string>): Problem[] {
  return listed.has(number) ? [] : [{ file, line: 0, message: `${number} is in no list` }];
}

function wrongReason(entry: Reason, all: readonly Reason[]): Problem[] {
  const problems: Problem[] = [];
  const add = (message: string) => problems.push({ file: ELSEWHERE, line: entry.line, message });
  if (entry.reason.length < 10) add(`${entry.number} needs a reason on its line`);
  if (all.find((other) => other.number === entry.number) !== entry) add(`${entry.number} again`);
  return problems;
}
