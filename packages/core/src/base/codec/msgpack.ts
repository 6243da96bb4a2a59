/**
 * msgpackr as the codecs use it. It can read the strings of a batch by native code, where that is
 * built: batches of texts four times as quickly. Loading it costs a thread 15 ms of its start, and
 * most never need it: so msgpackr comes without, and `loadNativeStrings` adds it beside the work.
 */
import type * as Msgpackr from 'msgpackr';
import * as plain from 'msgpackr/pack';
import { SerializationError, messageOf } from '../errors.ts';

// The types of `msgpackr/pack` lead nowhere; it has what the main module has.
const msgpackr = plain as unknown as typeof Msgpackr;

export const Packr: typeof Msgpackr.Packr = msgpackr.Packr;
export type Packr = Msgpackr.Packr;
export const Unpackr: typeof Msgpackr.Unpackr = msgpackr.Unpackr;
export type Unpackr = Msgpackr.Unpackr;

/** Sets msgpackr's write position back, so that its buffer is used again at once. */
const RESET_BUFFER_MODE = 1024;

/** msgpackr gives its own buffer, with the place of the value in it. */
export type PackedBuffer = Uint8Array & { readonly start: number; readonly end: number };

/** Valid until the next. */
export function pack(packr: Packr, value: unknown): PackedBuffer {
  try {
    const mode = msgpackr.REUSE_BUFFER_MODE | RESET_BUFFER_MODE;
    return packr.pack(value, mode) as unknown as PackedBuffer;
  } catch (error) {
    const message = `cannot write a value: ${messageOf(error)}; only data can be kept`;
    throw new SerializationError(message, { cause: error });
  }
}

let isLoading = false;

/** For whoever reads batches. Cheap when called again. */
export function loadNativeStrings(): void {
  if (isLoading) return;
  isLoading = true;
  // The main module puts it in place, for all that use msgpackr in this thread.
  import('msgpackr').catch(() => undefined);
}
