/**
 * How wide text is on a terminal, and how to make it fit: names come from users, so they hold what
 * takes two columns or none, and control characters, which must never reach a terminal.
 */

/** East Asian scripts and full-width forms, by range. */
const WIDE_SCRIPTS =
  '\\u1100-\\u115f\\u2e80-\\ua4cf\\ua960-\\ua97c\\uac00-\\ud7a3' +
  '\\uf900-\\ufaff\\ufe30-\\ufe6f\\uff00-\\uff60\\uffe0-\\uffe6';
const WIDE = new RegExp(`[${WIDE_SCRIPTS}]|\\p{Emoji_Presentation}`, 'u');
const ZERO = /^[\p{M}\p{Cf}]$/u;
const PLAIN = /^[ -~]*$/;
// oxlint-disable-next-line no-control-regex -- finding them is the purpose
const COLOUR = /\u001b\[[0-9;]*m/g;

/** Columns that the text takes; colours take none. */
export function displayWidth(text: string): number {
  const visible = text.replace(COLOUR, '');
  if (PLAIN.test(visible)) return visible.length;
  let width = 0;
  for (const character of visible) width += widthOf(character);
  return width;
}

/** Text of at most `columns` columns, the last of them `…` if something was cut off. */
export function truncate(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let width = 0;
  let kept = '';
  for (const character of text) {
    if (width + widthOf(character) > columns - 1) break;
    width += widthOf(character);
    kept += character;
  }
  return columns > 0 ? `${kept}…` : '';
}

/** Filled up with spaces on the right. */
export function padEnd(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - displayWidth(text)));
}

/** Filled up with spaces on the left. */
export function padStart(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - displayWidth(text))) + text;
}

/** One line without control characters, which could move the cursor or forge output. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/\p{Cc}/gu, '�');
}

/** Rows as aligned columns two spaces apart; those of `right` are aligned to the right. */
export function alignColumns(
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): readonly string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries())
      widths[index] = Math.max(widths[index] ?? 0, displayWidth(cell));
  return rows.map((row) =>
    row
      .map((cell, index) => (right.includes(index) ? padStart : padEnd)(cell, widths[index]!))
      .join('  ')
      .trimEnd(),
  );
}

function widthOf(character: string): number {
  if (ZERO.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
