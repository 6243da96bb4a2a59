import { SerializationError, messageOf } from '../../base/errors.ts';
import type { Format } from './format.ts';

/** Every line is a JSON value; blank lines are ignored. Nothing checks that it is a `T`. */
export function ndjson<T = unknown>(): Format<T> {
  return {
    name: 'ndjson',
    suffix: '.ndjson',
    hasHeader: false,
    skipsBlankLines: true,
    // The type parameter is the user's promise about the file.
    createDecoder: () => (line) => JSON.parse(line) as T,
    createEncoder: () => ({ encode: jsonOf }),
  };
}

function jsonOf(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw new SerializationError(`a record cannot be written as JSON: ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (text !== undefined) return text;
  throw new SerializationError(`a record of type ${typeof value} cannot be written as JSON`);
}
