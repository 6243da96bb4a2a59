import { SerializationError } from '../../base/errors.ts';
import type { Format } from './format.ts';

/** Every line is a record, a string without its line end; blank lines too. */
export function lines(): Format<string> {
  return {
    name: 'lines',
    suffix: '.txt',
    hasHeader: false,
    skipsBlankLines: false,
    createDecoder: () => (line) => line,
    createEncoder: () => ({ encode: textOf }),
  };
}

function textOf(value: string): string {
  if (typeof value === 'string') return value;
  throw new SerializationError(
    `lines() writes strings, and got a value of type ${typeof value}: ` +
      'turn it into a string with map, or use ndjson()',
  );
}
