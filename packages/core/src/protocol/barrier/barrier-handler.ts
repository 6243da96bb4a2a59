/**
 * What a task does about barriers: pure machines, called for barriers, cancel markers and ends of
 * channels, never per record. An unaligned handler can join them behind the same interface.
 */
import { AlignedBarrierHandler } from './aligned-barrier-handler.ts';
import type { BarrierHandler, BarrierHandlerOptions } from './barrier-messages.ts';
import { CountingBarrierHandler } from './counting-barrier-handler.ts';

export type {
  BarrierEffect,
  BarrierEvent,
  BarrierHandler,
  BarrierHandlerOptions,
} from './barrier-messages.ts';

/** `EXACTLY_ONCE` aligns, `AT_LEAST_ONCE` only counts. */
export function createBarrierHandler(
  mode: 'EXACTLY_ONCE' | 'AT_LEAST_ONCE',
  options: BarrierHandlerOptions,
): BarrierHandler {
  return mode === 'EXACTLY_ONCE'
    ? new AlignedBarrierHandler(options)
    : new CountingBarrierHandler(options);
}
