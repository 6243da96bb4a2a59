/**
 * `protocol` holds machines: event in, new state and effects out. Nothing there waits, so thousands
 * of schedules a minute can be tried. This check refuses whatever could wait.
 */
import { isTest } from '../check.ts';
import type { Check, Problem } from '../check.ts';
import { PURE, folderOf } from '../layer-table.ts';
import { nameOf } from '../source-file.ts';
import type { SourceFile, SyntaxNode } from '../source-file.ts';

export const purity: Check = {
  name: 'protocol is synchronous: no async, no await, no Promise',
  run: (repository) =>
    repository.sources
      .filter((file) => folderOf(file.path) === PURE && !isTest(file.path))
      .flatMap(problemsOf),
};

function problemsOf(file: SourceFile): Problem[] {
  const problems: Problem[] = [];
  for (const { node } of file.nodes) {
    const found = waiting(node);
    if (found === null) continue;
    const message = `${found} in ${PURE}: return an effect and let the shell carry it out`;
    problems.push({ file: file.path, line: file.lineOf(node.start), message });
  }
  return problems;
}

function waiting(node: SyntaxNode): string | null {
  if (node['async'] === true) return 'async function';
  if (node.type === 'AwaitExpression' || node['await'] === true) return 'await';
  return node.type === 'Identifier' && nameOf(node) === 'Promise' ? 'Promise' : null;
}
