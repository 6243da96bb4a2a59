/** A sink without transactions: what is written is there at once, and again after a restart. */
import type { Sink } from '@weir/core/internal/api/sink';
import type { SimulatedRecord } from './simulated-record.ts';

export function plainSink(
  name: string,
  outputs: Map<string, SimulatedRecord[]>,
): Sink<SimulatedRecord> {
  return {
    name,
    write: 'plain',
    createWriter: () => ({
      isWritable: true,
      whenWritable: () => Promise.resolve(),
      write(value) {
        const output = outputs.get(name);
        if (output === undefined) outputs.set(name, [value]);
        else output.push(value);
      },
      prepareCommit: () => ({ committables: [], writerStates: [], durable: Promise.resolve() }),
      close: () => Promise.resolve(),
    }),
  };
}
