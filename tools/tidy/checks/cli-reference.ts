/**
 * Every option of the command line is documented, and no documented option is gone. Options are
 * found in the sources of the command line in every form they take there: in help texts
 * (`--fresh`), compared with arguments (`'-p'`), and in tables for `parseArgs`.
 */
import { isTest } from '../check.ts';
import type { Check } from '../check.ts';
import { CORE } from '../layer-table.ts';
import { namesOfPage, outOfStep } from '../reference.ts';
import { isNode, nameOf, stringValue } from '../source-file.ts';
import type { SourceFile, SyntaxNode } from '../source-file.ts';

const SOURCE = `${CORE}cli/`;
const PAGE = 'docs/reference/cli.md';
const LONG = /(?<![\w-])--[a-z][a-z0-9-]*/g;
const ANY = /(?<![\w-])(--[a-z][a-z0-9-]*|-[A-Za-z](?![\w-]))/g;

export const cliReference: Check = {
  name: 'options of the command line and their reference page agree',
  run: (repository) =>
    outOfStep(repository, {
      what: 'option',
      page: PAGE,
      source: SOURCE,
      inCode: repository.sources
        .filter((file) => file.path.startsWith(SOURCE) && !isTest(file.path))
        .flatMap(optionsOf),
      inPage: namesOfPage(repository, PAGE, ANY),
    }),
};

function optionsOf(file: SourceFile): string[] {
  const inTexts = file.strings.flatMap(({ value }) =>
    /^-[A-Za-z]$/.test(value) ? [value] : (value.match(LONG) ?? []),
  );
  return [...inTexts, ...file.nodes.flatMap(({ node }) => parseArgsOption(node))];
}

/** The options that `name: { type: 'string', short: 'n' }` stands for. */
function parseArgsOption(node: SyntaxNode): string[] {
  const value = node['value'];
  if (node.type !== 'Property' || !isNode(value) || value.type !== 'ObjectExpression') return [];
  const type = propertyText(value, 'type');
  if (type !== 'string' && type !== 'boolean') return [];
  const short = propertyText(value, 'short');
  const name = nameOf(node['key']) ?? stringValue(node['key']) ?? '';
  return short === null ? [`--${name}`] : [`--${name}`, `-${short}`];
}

function propertyText(object: SyntaxNode, name: string): string | null {
  const properties = object['properties'] as SyntaxNode[];
  return stringValue(properties.find((property) => nameOf(property['key']) === name)?.['value']);
}
