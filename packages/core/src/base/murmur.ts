/**
 * The 128-bit murmur3 hash (x64 variant, seed 0) that turns uids into operator ids: the one Flink
 * takes from Guava, so that an operator id can be compared with Flink's. It is part of the snapshot
 * format and must never change. Written with BigInt, microseconds a call: for names, not records.
 */

const MASK = 0xffff_ffff_ffff_ffffn;
const C1 = 0x87c3_7b91_1142_53d5n;
const C2 = 0x4cf5_ad43_2745_937fn;

/** Hash of the UTF-8 bytes of `text`: 32 hexadecimal digits. */
export function murmur128(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const tailAt = bytes.length - (bytes.length % 16);
  let h1 = 0n;
  let h2 = 0n;
  for (let at = 0; at < tailAt; at += 16) {
    h1 ^= mixFirst(littleEndian(bytes, at, at + 8));
    h1 = (((rotateLeft(h1, 27n) + h2) & MASK) * 5n + 0x52dc_e729n) & MASK;
    h2 ^= mixSecond(littleEndian(bytes, at + 8, at + 16));
    h2 = (((rotateLeft(h2, 31n) + h1) & MASK) * 5n + 0x3849_5ab5n) & MASK;
  }
  h2 ^= mixSecond(littleEndian(bytes, tailAt + 8, bytes.length));
  h1 ^= mixFirst(littleEndian(bytes, tailAt, Math.min(tailAt + 8, bytes.length)));
  h1 ^= BigInt(bytes.length);
  h2 ^= BigInt(bytes.length);
  h1 = (h1 + h2) & MASK;
  h2 = (h2 + h1) & MASK;
  h1 = finalMix(h1);
  h2 = finalMix(h2);
  h1 = (h1 + h2) & MASK;
  h2 = (h2 + h1) & MASK;
  return hexOfLittleEndian(h1) + hexOfLittleEndian(h2);
}

function mixFirst(k: bigint): bigint {
  return (rotateLeft((k * C1) & MASK, 31n) * C2) & MASK;
}

function mixSecond(k: bigint): bigint {
  return (rotateLeft((k * C2) & MASK, 33n) * C1) & MASK;
}

function finalMix(h: bigint): bigint {
  const a = ((h ^ (h >> 33n)) * 0xff51_afd7_ed55_8ccdn) & MASK;
  const b = ((a ^ (a >> 33n)) * 0xc4ce_b9fe_1a85_ec53n) & MASK;
  return b ^ (b >> 33n);
}

function rotateLeft(value: bigint, bits: bigint): bigint {
  return ((value << bits) | (value >> (64n - bits))) & MASK;
}

/** The bytes of [from, to) as a number, the first byte the lowest; 0 when there are none. */
function littleEndian(bytes: Uint8Array, from: number, to: number): bigint {
  let value = 0n;
  for (let at = to - 1; at >= from; at--) value = (value << 8n) | BigInt(bytes[at] ?? 0);
  return value;
}

function hexOfLittleEndian(value: bigint): string {
  const digits = value.toString(16).padStart(16, '0');
  return (digits.match(/../g) ?? []).toReversed().join('');
}
