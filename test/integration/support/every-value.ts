/**
 * Records of every kind of value that structured clone keeps, for tests of what carries records:
 * sixty fields, a megabyte of text, two hundred levels, special numbers, holes, collections, dates,
 * bytes, and instances of a class, which become plain objects.
 */
import assert from 'node:assert/strict';

class Reading {
  readonly celsius: number;
  constructor(celsius: number) {
    this.celsius = celsius;
  }
}

export const KINDS = [
  'wide',
  'deep',
  'special',
  'holes',
  'collections',
  'dates',
  'bytes',
  'instance',
  'large',
] as const;
export type Kind = (typeof KINDS)[number];

export interface Carried {
  readonly kind: Kind;
  readonly index: number;
  readonly value: unknown;
}

export function carried(kind: Kind, index: number): Carried {
  return { kind, index, value: valueOf(kind, index) };
}

/** What `carried` must have become once it was written and read. */
export function checkCarried(value: unknown, kind: Kind, index: number): void {
  assert.deepEqual(value, structuredClone(valueOf(kind, index)), `${kind} of ${index}`);
}

function valueOf(kind: Kind, index: number): unknown {
  switch (kind) {
    case 'wide':
      return Object.fromEntries(Array.from({ length: 60 }, (_, f) => [`field${f}`, index * f]));
    case 'deep': {
      let deep: unknown = index;
      for (let depth = 0; depth < 200; depth++) deep = depth % 2 === 0 ? { deep } : [deep];
      return deep;
    }
    case 'special':
      return { nan: Number.NaN, zero: -0, missing: undefined, none: null, far: -Infinity };
    case 'holes': {
      const holes: unknown[] = [index];
      holes[5] = undefined;
      return { holes };
    }
    case 'collections':
      return {
        map: new Map<unknown, unknown>([[{ index }, new Set([1n, -0, undefined])]]),
        big: -(2n ** 80n) + BigInt(index),
      };
    case 'dates':
      return [new Date(index), new Date(Number.NaN), new Date(-1e14)];
    case 'bytes':
      return {
        bytes: Uint8Array.of(index),
        floats: Float64Array.of(-0, Number.NaN),
        longs: BigInt64Array.of(-1n),
        view: new DataView(new ArrayBuffer(2)),
        buffer: Uint16Array.of(index, 7).buffer,
      };
    case 'instance':
      return { reading: new Reading(index), list: [new Reading(index)] };
    case 'large':
      return { text: String(index % 10).repeat(1 << 20), wide: '\ud800 日本語' };
  }
}
