/** A proxy before a Redis server, which sees each command with its arguments. */
import { RequestProxy } from '../exactly-once/request-proxy.ts';
import type { Address, ClientFrame, FrameCutter } from '../exactly-once/request-proxy.ts';

export type RedisProxy = RequestProxy<readonly string[]>;

export function proxyBeforeRedis(target: () => Address): Promise<RedisProxy> {
  return RequestProxy.listen(target, newCutter);
}

/** A command: `*2`, then for each argument its length and itself, each line with CR LF. */
function newCutter(): FrameCutter<readonly string[]> {
  let waiting: Buffer = Buffer.alloc(0);
  return function* cut(data): Generator<ClientFrame<readonly string[]>> {
    waiting = waiting.length === 0 ? data : Buffer.concat([waiting, data]);
    for (;;) {
      const command = commandIn(waiting);
      if (command === null) return;
      const bytes = waiting.subarray(0, command.size);
      waiting = waiting.subarray(command.size);
      yield { bytes, request: command.words };
    }
  };
}

/** `null`: it is not whole yet. */
function commandIn(
  bytes: Buffer,
): { readonly words: readonly string[]; readonly size: number } | null {
  const words: string[] = [];
  let place = 0;
  const number = (): number | null => {
    const end = bytes.indexOf('\r\n', place);
    if (end === -1) return null;
    const value = Number(bytes.toString('latin1', place + 1, end));
    place = end + 2;
    return value;
  };
  const count = number();
  if (count === null) return null;
  for (let i = 0; i < count; i++) {
    const length = number();
    if (length === null || place + length + 2 > bytes.length) return null;
    words.push(bytes.toString('utf8', place, place + length));
    place += length + 2;
  }
  return { words, size: place };
}
