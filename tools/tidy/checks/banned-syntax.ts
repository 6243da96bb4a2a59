/**
 * Words and constructs that the code does without: what type stripping refuses, what hides a type,
 * output that no logger sees, and notes that belong into an issue.
 */
import type { Check, Problem } from '../check.ts';
import { nameOf } from '../source-file.ts';
import type { SourceFile, SyntaxNode } from '../source-file.ts';

const SYNTAX: Readonly<Record<string, string>> = {
  TSEnumDeclaration: 'enum: use a union of string literals',
  TSAnyKeyword: 'any: use unknown and narrow it',
  TSModuleDeclaration: 'namespace: use a module',
  TSParameterProperty: 'parameter property: declare the field',
  Decorator: 'decorator: call the function',
  DebuggerStatement: 'debugger: remove it',
};
const NOTE = /\b(TODO|FIXME|XXX|HACK)\b/;
const MAY_PRINT = /^(tools|examples|bench|packages\/core\/src\/cli|test)\//;

export const bannedSyntax: Check = {
  name: 'no enum, any, namespace, decorator, console or note to do later',
  run: (repository) => repository.sources.flatMap(problemsOf),
};

function problemsOf(file: SourceFile): Problem[] {
  const problems: Problem[] = file.errors.map((message) => ({ file: file.path, line: 0, message }));
  for (const { text, line } of file.comments) {
    const note = NOTE.exec(text)?.[1];
    if (note === undefined) continue;
    problems.push({ file: file.path, line, message: `${note}: do it, or open an issue` });
  }
  for (const { node } of file.nodes) {
    const message = complaint(file, node);
    if (message !== null)
      problems.push({ file: file.path, line: file.lineOf(node.start), message });
  }
  return problems;
}

function complaint(file: SourceFile, node: SyntaxNode): string | null {
  if (node.type === 'MemberExpression' && nameOf(node['object']) === 'console')
    return MAY_PRINT.test(file.path) ? null : 'console: take a Logger';
  return Object.hasOwn(SYNTAX, node.type) ? (SYNTAX[node.type] ?? null) : null;
}
