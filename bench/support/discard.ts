/** A sink that forgets what it is given. */
import type { Sink } from '@weir/core';

export function discard<T>(): Sink<T> {
  return {
    name: 'discard',
    write: 'plain',
    createWriter: () => ({
      write: () => undefined,
      isWritable: true,
      whenWritable: () => Promise.resolve(),
      prepareCommit: () => ({ committables: [], writerStates: [], durable: Promise.resolve() }),
      close: () => Promise.resolve(),
    }),
  };
}
