/**
 * A test that is skipped, marked for later, or runs alone while the others are silently left out
 * proves nothing. None of these may be committed.
 */
import { isTest } from '../check.ts';
import type { Check, Problem } from '../check.ts';
import { isNode, nameOf, stringValue } from '../source-file.ts';
import type { SourceFile, SyntaxNode } from '../source-file.ts';

const MODIFIERS: ReadonlySet<string> = new Set(['only', 'skip', 'todo']);
const SUBJECTS: ReadonlySet<string> = new Set(['test', 'it', 'describe', 'suite', 't', 'context']);

export const testModifiers: Check = {
  name: 'no test is skipped, marked as todo, or runs alone',
  run: (repository) => repository.sources.filter((file) => isTest(file.path)).flatMap(problemsOf),
};

function problemsOf(file: SourceFile): Problem[] {
  const problems: Problem[] = [];
  for (const { node } of file.nodes) {
    const modifier = modifierOf(node);
    if (modifier === null) continue;
    const message = `${modifier}: let every test run, or remove it`;
    problems.push({ file: file.path, line: file.lineOf(node.start), message });
  }
  return problems;
}

function modifierOf(node: SyntaxNode): string | null {
  if (node.type === 'MemberExpression' && SUBJECTS.has(nameOf(node['object']) ?? ''))
    return oneOf(nameOf(node['property']) ?? stringValue(node['property']));
  if (node.type !== 'CallExpression' || !SUBJECTS.has(nameOf(node['callee']) ?? '')) return null;
  for (const argument of node['arguments'] as SyntaxNode[]) {
    if (argument.type !== 'ObjectExpression') continue;
    const keys = (argument['properties'] as SyntaxNode[]).map((property) => property['key']);
    const modifier = keys.map((key) => (isNode(key) ? oneOf(nameOf(key)) : null));
    const found = modifier.find((one) => one !== null);
    if (found !== undefined) return found;
  }
  return null;
}

function oneOf(name: string | null): string | null {
  return name !== null && MODIFIERS.has(name) ? name : null;
}
