/**
 * Every configuration key is documented, and no documented key is gone. The keys are those of the
 * tables `{ 'a.b-c': { type: …, … } }` in `base/options`.
 */
import { isTest } from '../check.ts';
import type { Check } from '../check.ts';
import { CORE } from '../layer-table.ts';
import { namesOfPage, outOfStep } from '../reference.ts';
import { isNode, stringValue } from '../source-file.ts';
import type { SourceFile } from '../source-file.ts';

const SOURCE = `${CORE}base/options/`;
const PAGE = 'docs/reference/configuration.md';
const KEY = /^[a-z][a-z0-9-]*(\.[a-z0-9<>-]+)+$/g;

export const configReference: Check = {
  name: 'configuration keys and their reference page agree',
  run: (repository) =>
    outOfStep(repository, {
      what: 'configuration key',
      page: PAGE,
      source: SOURCE,
      inCode: repository.sources
        .filter((file) => file.path.startsWith(SOURCE) && !isTest(file.path))
        .flatMap(keysOf),
      inPage: namesOfPage(repository, PAGE, KEY),
    }),
};

function keysOf(file: SourceFile): string[] {
  return file.nodes.flatMap(({ node }) => {
    const value = node['value'];
    if (node.type !== 'Property' || !isNode(value) || value.type !== 'ObjectExpression') return [];
    return (stringValue(node['key']) ?? '').match(KEY) ?? [];
  });
}
