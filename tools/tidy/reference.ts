/**
 * What the checks on reference pages share: the names that a page documents, compared with the
 * names that the code has. A name counts as documented where a page gives it a heading or the first
 * cell of a table row, in backticks; a mention in running text does not count.
 */
import type { Problem } from './check.ts';
import type { Repository } from './repository.ts';

/** All backticked texts in headings and first table cells of a page. */
export function documentedNames(markdown: string): readonly string[] {
  return markdown.split('\n').flatMap((line) => {
    const place = /^#{2,6} .*/.exec(line)?.[0] ?? /^\|(?:\\\||[^|])*/.exec(line)?.[0] ?? '';
    return [...place.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
  });
}

export interface Reference {
  /** What the names are, in the singular. */
  readonly what: string;
  readonly page: string;
  readonly source: string;
  readonly inCode: readonly string[];
  readonly inPage: readonly string[];
}

/** What matches a form (a global expression) in a page's names; empty where there is no page. */
export function namesOfPage(repository: Repository, page: string, form: RegExp): string[] {
  const documented = documentedNames(repository.text(page) ?? '');
  return documented.flatMap((name) => [...name.matchAll(form)].map(([whole]) => whole));
}

/** One problem for each name that only one side knows, and one if there is no page at all. */
export function outOfStep(repository: Repository, reference: Reference): Problem[] {
  const { what, page, source, inCode, inPage } = reference;
  if (inCode.length === 0 && inPage.length === 0) return [];
  if (!repository.has(page)) {
    const message = `missing, while ${source} has ${inCode.length} of kind ${what} to document`;
    return [{ file: page, line: 0, message }];
  }
  const undocumented = [...new Set(inCode)].filter((name) => !inPage.includes(name));
  const unknown = [...new Set(inPage)].filter((name) => !inCode.includes(name));
  return [
    ...undocumented.map((name) => ({
      file: page,
      line: 0,
      message: `${what} ${name} of ${source} has no heading or table row here`,
    })),
    ...unknown.map((name) => ({
      file: page,
      line: 0,
      message: `${what} ${name} does not exist in ${source}`,
    })),
  ];
}
