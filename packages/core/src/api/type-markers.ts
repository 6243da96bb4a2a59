/** Types as values, where TypeScript has nothing to infer them from. */
import { GraphValidationError } from '../base/errors.ts';
import type { OutputTag, RecordType } from './functions.ts';

/**
 * Names a record type: `emits: type<Total>()` in a process function types `ctx.emit` and the
 * resulting stream. It does nothing at run time.
 */
export function type<R>(): RecordType<R> {
  return {};
}

/**
 * Names a side output and its record type: emit with `ctx.output(tag, value)`, read with
 * `stream.sideOutput(tag)`. Tags of equal id are the same tag.
 * @throws GraphValidationError when the id is empty.
 */
export function outputTag<T>(id: string): OutputTag<T> {
  if (typeof id !== 'string' || id === '')
    throw new GraphValidationError('outputTag: the id must be a text that is not empty');
  return { id };
}
