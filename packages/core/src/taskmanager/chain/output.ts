/**
 * Where an operator sends its results: the next operator of the chain, the network, or several of
 * these. Calls are synchronous; nothing here allocates per record.
 */
import type { OperatorContext } from '../operators/stream-operator.ts';
import type { InlinedEdge } from './inlined.ts';

export interface Output {
  /** Of an edge: how generated code takes it. */
  readonly inlined?: InlinedEdge;
  /** In a generated chain: `emit` for a function's context, which knows the timestamp. */
  readonly emitter?: (
    element: { readonly resultTimestamp: number },
    context: OperatorContext,
  ) => (result: unknown) => void;
  collect(value: unknown, timestamp: number): void;
  emitWatermark(timestamp: number): void;
  emitIdle(idle: boolean): void;
}

/** For an operator nobody listens to. */
export const NO_OUTPUT: Output = {
  collect: () => undefined,
  emitWatermark: () => undefined,
  emitIdle: () => undefined,
};

/** Sends everything to each of several outputs. */
export function broadcastingOutput(outputs: readonly Output[]): Output {
  const only = outputs[0];
  if (only === undefined) return NO_OUTPUT;
  if (outputs.length === 1) return only;
  return {
    collect(value, timestamp) {
      for (const output of outputs) output.collect(value, timestamp);
    },
    emitWatermark(timestamp) {
      for (const output of outputs) output.emitWatermark(timestamp);
    },
    emitIdle(idle) {
      for (const output of outputs) output.emitIdle(idle);
    },
  };
}
