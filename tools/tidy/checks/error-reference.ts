/** Every error code is explained to users, and no explained code is gone. */
import type { Check } from '../check.ts';
import { CORE } from '../layer-table.ts';
import { namesOfPage, outOfStep } from '../reference.ts';
import { isNode, nameOf } from '../source-file.ts';
import type { SourceFile, SyntaxNode } from '../source-file.ts';

const SOURCE = `${CORE}base/error-codes.ts`;
const PAGE = 'docs/reference/errors.md';

export const errorReference: Check = {
  name: 'error codes and their reference page agree',
  run: (repository) =>
    outOfStep(repository, {
      what: 'error code',
      page: PAGE,
      source: SOURCE,
      inCode: codesOf(repository.source(SOURCE)),
      inPage: namesOfPage(repository, PAGE, /^[A-Z][A-Z0-9_]+$/g),
    }),
};

function codesOf(file: SourceFile): string[] {
  const keys: string[] = [];
  for (const { node, parent } of file.nodes) {
    if (
      node.type !== 'Property' ||
      !isErrorTable(parent?.parent?.node, parent?.parent?.parent?.node)
    )
      continue;
    const key = node['key'];
    if (isNode(key)) keys.push(nameOf(key) ?? String(key['value']));
  }
  return keys;
}

/** The table is `const ERROR_CODES = { … }`, with or without `as const` around it. */
function isErrorTable(...around: readonly (SyntaxNode | undefined)[]): boolean {
  return around.some((node) => nameOf(node?.['id']) === 'ERROR_CODES');
}
