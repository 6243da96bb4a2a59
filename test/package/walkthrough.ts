/**
 * Does what a page says: writes its files, types its commands, block by block in one shell, and
 * compares what they print with what the page shows.
 */
import { spawnSync } from 'node:child_process';
import type { CodeBlock } from './code-blocks.ts';
import { isForCheckout, isShownBy } from './code-blocks.ts';
import { userEnvironment } from './installed-package.ts';

export interface Step {
  readonly block: CodeBlock;
  /** What the block that was typed printed; empty for a file. */
  readonly output: string;
}

export interface Walkthrough {
  readonly steps: readonly Step[];
  /** What went wrong, in words; `null`: everything is as the page says. */
  readonly fault: string | null;
}

export interface WalkthroughOptions {
  /** Where the page is followed; begins empty. */
  readonly folder: string;
  /** What the page calls something, and what it is here. */
  readonly replace: Readonly<Record<string, string>>;
  readonly limitMs: number;
}

const MARK = '--- a new block begins ---';

export function walkThrough(
  blocks: readonly CodeBlock[],
  { folder, replace, limitMs }: WalkthroughOptions,
): Walkthrough {
  const steps = blocks.filter(
    (block) => block.title !== null || (block.language === 'sh' && !isForCheckout(block)),
  );
  const script = steps.map((block) => `echo '${MARK}'\n${typed(block, replace)}`).join('\n');
  const { status, stdout, error } = spawnSync('bash', ['-c', `set -e; exec 2>&1\n${script}`], {
    cwd: folder,
    env: userEnvironment(),
    encoding: 'utf8',
    input: '',
    timeout: limitMs,
  });
  const outputs = stdout.split(`${MARK}\n`).slice(1).map(withoutNotices);
  const done = steps.map((block, index) => ({ block, output: outputs[index] ?? '' }));
  if (error !== undefined || status !== 0) {
    const { block, output } = done[Math.max(0, outputs.length - 1)]!;
    const how = error === undefined ? `ended with exit code ${status}` : error.message;
    return { steps: done, fault: `line ${block.line}: ${how}\n${block.text}\n${output}` };
  }
  const wrong = done.find(({ block, output }) => {
    const shown = shownFor(blocks, block);
    return shown !== null && !isShownBy(shown.text, output);
  });
  return { steps: done, fault: wrong === undefined ? null : differenceOf(blocks, wrong) };
}

/** What the page shows as the output of a block, if anything. */
export function shownFor(blocks: readonly CodeBlock[], block: CodeBlock): CodeBlock | null {
  const next = blocks[blocks.indexOf(block) + 1];
  const isOutput =
    block.language === 'sh' &&
    next?.language === 'text' &&
    next.title === null &&
    next.section === block.section;
  return isOutput ? next : null;
}

function typed(block: CodeBlock, replace: WalkthroughOptions['replace']): string {
  if (block.title !== null)
    return `cat > '${block.title}' <<'END OF FILE'\n${block.text}END OF FILE`;
  let { text } = block;
  for (const [name, value] of Object.entries(replace)) text = text.replaceAll(name, value);
  return text;
}

/** A shell at a terminal tells of a killed job otherwise than one that reads a script. */
function withoutNotices(output: string): string {
  return output.replaceAll(/^\S+: line \d+: +\d+ Killed .*\n/gm, '');
}

function differenceOf(blocks: readonly CodeBlock[], { block, output }: Step): string {
  const shown = shownFor(blocks, block);
  return [
    `line ${block.line}: the page shows another output than`,
    block.text,
    `prints. Shown:\n\n${shown?.text}`,
    `Printed:\n\n${output}`,
  ].join('\n');
}
