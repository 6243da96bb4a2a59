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
  strong: paint(1, 22),
  faint: paint(2, 22),
  good: paint(32, 39),
  warning: paint(33, 39),
  bad: paint(31, 39),
  cells: ASCII_CELLS,
};

function paint(on: number, off: number): (text: string) => string {
  return (text) => (text === '' ? '' : `\u001b[${on}m${text}\u001b[${off}m`);
}

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
