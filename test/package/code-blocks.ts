/**
 * The code blocks of a page. What the tests do with them follows from what a reader sees:
 *
 * - a block with a title (```ts title="job.ts"): the content of that file;
 * - ```sh: typed into a shell, in a folder that begins empty; one that begins with `npm ci` belongs
 *   into the checkout and is none of the tests' business;
 * - ```bash: for a shell as well, but needs what not every machine has, such as a broker;
 * - ```text behind a ```sh: what that prints. `…` stands for any text, alone on a line for lines.
 */

export interface CodeBlock {
  readonly language: string;
  readonly title: string | null;
  readonly text: string;
  /** Of its first line, counted from 1. */
  readonly line: number;
  /** The heading above: a block and its output stand below the same. */
  readonly section: string;
}

const FENCE = /^```(\w*)(?: title="([^"]+)")?$/;

export function codeBlocks(page: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let section = '';
  let open: { language: string; title: string | null; lines: string[]; line: number } | null = null;
  for (const [index, line] of page.split('\n').entries()) {
    if (open === null) {
      if (line.startsWith('#')) section = line.replace(/^#+ /, '');
      const fence = FENCE.exec(line);
      if (fence === null) continue;
      const [, language = '', title = null] = fence;
      open = { language, title, lines: [], line: index + 2 };
    } else if (line === '```') {
      const { language, title, lines } = open;
      blocks.push({ language, title, text: `${lines.join('\n')}\n`, line: open.line, section });
      open = null;
    } else open.lines.push(line);
  }
  return blocks;
}

export function isForCheckout({ language, text }: CodeBlock): boolean {
  return language === 'sh' && text.startsWith('npm ci');
}

/** Whether the output is what a page shows, from the first line to the last. */
export function isShownBy(expected: string, output: string): boolean {
  const lines = expected.trim().split('\n');
  const patterns = lines.map((line) =>
    line === '…' ? '(?:.*\\n)*?' : `${line.split('…').map(escaped).join('.*')}\\n`,
  );
  return new RegExp(`^${patterns.join('')}$`).test(`${output.trim()}\n`);
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
