/**
 * msgpackr as the codecs use it. It can read the strings of a batch by native code, where that is
 * built: batches of texts four times as quickly. Loading it costs a thread 15 ms of its start, and
 * most never need it: so msgpackr comes without, and `loadNativeStrings` adds it beside the work.
 */
import type * as Msgpackr from 'msgpackr';
import * as plain from 'msgpackr/pack';

// The types of `msgpackr/pack` lead nowhere; it has what the main module has.
const msgpackr = plain as unknown as typeof Msgpackr;

export const Packr: typeof Msgpackr.Packr = msgpackr.Packr;
export type Packr = Msgpackr.Packr;
export const Unpackr: typeof Msgpackr.Unpackr = msgpackr.Unpackr;
export type Unpackr = Msgpackr.Unpackr;
export const REUSE_BUFFER_MODE: number = msgpackr.REUSE_BUFFER_MODE;

let isLoading = false;

/** For whoever reads batches. Cheap when called again. */
export function loadNativeStrings(): void {
  if (isLoading) return;
  isLoading = true;
  // The main module puts it in place, for all that use msgpackr in this thread.
  import('msgpackr').catch(() => undefined);
}
