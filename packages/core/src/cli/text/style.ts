/** Colours, or none: reports ask by meaning and never write an escape sequence themselves. */

export interface Style {
  readonly strong: (text: string) => string;
  readonly faint: (text: string) => string;
  readonly good: (text: string) => string;
  readonly warning: (text: string) => string;
  readonly bad: (text: string) => string;
  /** Cells of a bar: work, waiting for the consumer, neither. */
  readonly cells: { readonly busy: string; readonly blocked: string; readonly idle: string };
}

const ASCII_CELLS = { busy: '#', blocked: '=', idle: '.' };
const BLOCK_CELLS = { busy: '█', blocked: '▒', idle: '·' };

const same = (text: string): string => text;

export const PLAIN_STYLE: Style = {
  strong: same,
  faint: same,
  good: same,
  warning: same,
  bad: same,
  cells: ASCII_CELLS,
};

const COLOUR_STYLE: Style = {
  strong: (text) => `\u001b[1m${text}\u001b[22m`,
  faint: (text) => `\u001b[2m${text}\u001b[22m`,
  good: (text) => `\u001b[32m${text}\u001b[39m`,
  warning: (text) => `\u001b[33m${text}\u001b[39m`,
  bad: (text) => `\u001b[31m${text}\u001b[39m`,
  cells: ASCII_CELLS,
};

/**
 * The style for a stream: colours on a terminal unless `NO_COLOR` is set (to anything but nothing)
 * or the terminal is a dumb one; block characters where the locale says UTF-8.
 */
export function styleFor(
  isTerminal: boolean,
  variables: Readonly<Record<string, string | undefined>>,
): Style {
  if (!isTerminal) return PLAIN_STYLE;
  const locale = variables['LC_ALL'] || variables['LC_CTYPE'] || variables['LANG'] || '';
  const cells = /utf-?8/i.test(locale) ? BLOCK_CELLS : ASCII_CELLS;
  const isPlain = Boolean(variables['NO_COLOR']) || variables['TERM'] === 'dumb';
  return { ...(isPlain ? PLAIN_STYLE : COLOUR_STYLE), cells };
}
