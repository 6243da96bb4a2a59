/**
 * The TypeScript on the pages as modules that a compiler takes. A block that imports something is a
 * module already; one that does not is a piece of a job's function and gets a job around it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as core from '../../packages/core/src/index.ts';
import { codeBlocks } from './code-blocks.ts';
import { ROOT } from './installed-package.ts';

export interface DocumentedJob {
  /** A file name of its own. */
  readonly name: string;
  /** Page and line. */
  readonly page: string;
  readonly code: string;
  /** Whether its default export is a job. */
  readonly isJob: boolean;
}

export function jobsOfPages(pages: readonly string[]): DocumentedJob[] {
  return pages.flatMap((page) =>
    codeBlocks(readFileSync(join(ROOT, page), 'utf8'))
      .filter(({ language }) => language === 'ts')
      .map(({ text, line }) => {
        const name = `${page.replaceAll(/\W/g, '-')}-${line}.ts`;
        const code = /^import /m.test(text) ? text : asJob(text);
        return { name, page: `${page}:${line}`, code, isJob: code.includes('export default job(') };
      }),
  );
}

function asJob(piece: string): string {
  const used = Object.keys(core).filter((name) => new RegExp(`\\b${name}\\b`).test(piece));
  const imports = ['job', ...used.filter((name) => name !== 'job')].join(', ');
  const body = `export default job('piece', (env) => {\n${piece}});\n`;
  return `import { ${imports} } from '@weir/core';\n${body}`;
}
