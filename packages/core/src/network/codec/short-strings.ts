/**
 * Makes short ASCII strings from bytes without a native call, which costs 70 ns; this costs 30 ns
 * at 16 characters. By length.
 */
import { canCompile, compile } from '../../base/generated-code.ts';

type ReadShortString = (bytes: Uint8Array, at: number) => string;

const LENGTH_MAX = 20;

export const shortStringReaders: readonly ReadShortString[] = Array.from(
  { length: canCompile() ? LENGTH_MAX + 1 : 0 },
  (_, length) => {
    if (length === 0) return () => '';
    const codes = Array.from({ length }, (_byte, i) => `B[at + ${i}]`).join(', ');
    const make = compile('fromCharCode', `return (B, at) => fromCharCode(${codes});`) as (
      fromCharCode: typeof String.fromCharCode,
    ) => ReadShortString;
    return make(String.fromCharCode);
  },
);
