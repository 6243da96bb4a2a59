/** Every error code is explained to users, and no explained code is gone. */
import type { Check } from '../check.ts';
import { CORE } from '../layer-table.ts';
import { namesOfPage, outOfStep } from '../reference.ts';
import { nameOf } from '../source-file.ts';
import type { SourceFile } from '../source-file.ts';

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

/** The keys of `const ERROR_CODES = { … }`, with or without `as const` around it. */
function codesOf(file: SourceFile): string[] {
  return file.nodes.flatMap(({ node, parent }) => {
    const around = [parent?.parent?.node, parent?.parent?.parent?.node];
    const inTable = around.some((outer) => nameOf(outer?.['id']) === 'ERROR_CODES');
    return node.type === 'Property' && inTable ? (nameOf(node['key']) ?? []) : [];
  });
}
