/** Every configuration key is documented, and no documented key is gone. */
import type { Check } from '../check.ts';
import { CORE } from '../layer-table.ts';
import { namesOfPage, outOfStep } from '../reference.ts';
import { nameOf, stringValue } from '../source-file.ts';
import type { SourceFile } from '../source-file.ts';

const SOURCE = `${CORE}base/config-options.ts`;
const PAGE = 'docs/reference/configuration.md';
const KEY = /^[a-z][a-z0-9-]*(\.[a-z0-9<>-]+)+$/g;

export const configReference: Check = {
  name: 'configuration keys and their reference page agree',
  run: (repository) =>
    outOfStep(repository, {
      what: 'configuration key',
      page: PAGE,
      source: SOURCE,
      inCode: keysOf(repository.source(SOURCE)),
      inPage: namesOfPage(repository, PAGE, KEY),
    }),
};

function keysOf(file: SourceFile): string[] {
  return file.nodes.flatMap(({ node }) => {
    if (node.type !== 'Property' || nameOf(node['key']) !== 'key') return [];
    return stringValue(node['value']) ?? [];
  });
}
