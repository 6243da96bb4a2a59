/** A proxy before a PostgreSQL server, which sees the text of each simple query. */
import { RequestProxy } from '../exactly-once/request-proxy.ts';
import type { Address, ClientFrame, FrameCutter } from '../exactly-once/request-proxy.ts';

const QUERY = 'Q'.charCodeAt(0);

export type PostgresProxy = RequestProxy<string>;

export function proxyBeforePostgres(target: () => Address): Promise<PostgresProxy> {
  return RequestProxy.listen(target, newCutter);
}

/** A message: its type in one byte, which the first has not, then its length in four. */
function newCutter(): FrameCutter<string> {
  let waiting: Buffer = Buffer.alloc(0);
  let typeBytes = 0;
  return function* cut(data): Generator<ClientFrame<string>> {
    waiting = waiting.length === 0 ? data : Buffer.concat([waiting, data]);
    for (;;) {
      if (waiting.length < typeBytes + 4) return;
      const size = waiting.readInt32BE(typeBytes) + typeBytes;
      if (waiting.length < size) return;
      const bytes = waiting.subarray(0, size);
      waiting = waiting.subarray(size);
      const isQuery = typeBytes === 1 && bytes[0] === QUERY;
      typeBytes = 1;
      yield { bytes, request: isQuery ? bytes.toString('utf8', 5, size - 1) : null };
    }
  };
}
