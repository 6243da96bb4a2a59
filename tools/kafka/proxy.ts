/** A proxy before a Kafka broker, which sees of each request Kafka's number of its kind. */
import { RequestProxy } from '../exactly-once/request-proxy.ts';
import type { Address, ClientFrame, FrameCutter } from '../exactly-once/request-proxy.ts';

export const END_TXN_KEY = 26;

export type KafkaProxy = RequestProxy<number>;

export function proxyBeforeKafka(target: () => Address): Promise<KafkaProxy> {
  return RequestProxy.listen(target, newCutter);
}

/** A request: its length in four bytes, then its kind in two. */
function newCutter(): FrameCutter<number> {
  let waiting: Buffer = Buffer.alloc(0);
  return function* cut(data): Generator<ClientFrame<number>> {
    waiting = waiting.length === 0 ? data : Buffer.concat([waiting, data]);
    while (waiting.length >= 6) {
      const frameBytes = waiting.readInt32BE(0) + 4;
      if (waiting.length < frameBytes) return;
      const bytes = waiting.subarray(0, frameBytes);
      waiting = waiting.subarray(frameBytes);
      yield { bytes, request: bytes.readInt16BE(4) };
    }
  };
}
