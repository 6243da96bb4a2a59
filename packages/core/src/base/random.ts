/**
 * Randomness as an argument. `seededRandom` is xoshiro128**, seeded by splitmix32; it serves
 * simulation, `shuffle` and jitter. `derive` gives an independent stream, so that one more draw in
 * one place does not change the draws of another.
 */
export interface Random {
  /** A double in [0, 1). */
  next(): number;
  /** An integer in [0, bound). */
  int(bound: number): number;
  /** `length` hexadecimal digits. */
  hex(length: number): string;
  /** An independent stream, the same for the same label. */
  derive(label: string): Random;
}

export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const splitmix = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return (z ^ (z >>> 16)) >>> 0;
  };
  let a = splitmix();
  let b = splitmix();
  let c = splitmix();
  let d = splitmix();
  const rotate = (x: number, k: number): number => (x << k) | (x >>> (32 - k));
  const draw = (): number => {
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0;
    const t = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = rotate(d, 11);
    return result;
  };
  return {
    next: () => draw() / 4_294_967_296,
    int: (bound) => Math.floor((draw() / 4_294_967_296) * bound),
    hex: (length) => {
      let text = '';
      while (text.length < length) text += draw().toString(16).padStart(8, '0');
      return text.slice(0, length);
    },
    derive: (label) => {
      let hash = seed >>> 0;
      for (let i = 0; i < label.length; i++)
        hash = Math.imul(hash ^ label.charCodeAt(i), 0x01000193) >>> 0;
      return seededRandom(hash);
    },
  };
}
