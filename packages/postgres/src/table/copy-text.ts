/** Rows in the text format of COPY: fields apart by tabs, `\N` for NULL, a row a line. */

/** A field, or null. */
export type Field = string | null;

const NEEDS_ESCAPE = /[\\\n\r\t]/;

export function toLine(fields: readonly Field[]): string {
  let line = '';
  for (let i = 0; i < fields.length; i++) {
    if (i > 0) line += '\t';
    const field = fields[i];
    if (field === null || field === undefined) line += '\\N';
    else line += NEEDS_ESCAPE.test(field) ? escaped(field) : field;
  }
  return `${line}\n`;
}

function escaped(field: string): string {
  return field.replaceAll(/[\\\n\r\t]/g, (character) => ESCAPES[character] ?? character);
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/** The fields of a line that `toLine` made. */
export function fromLine(line: string): Field[] {
  return line
    .slice(0, -1)
    .split('\t')
    .map((field) => (field === '\\N' ? null : field.replaceAll(/\\(.)/g, unescaped)));
}

function unescaped(_match: string, character: string): string {
  return { n: '\n', r: '\r', t: '\t' }[character] ?? character;
}
