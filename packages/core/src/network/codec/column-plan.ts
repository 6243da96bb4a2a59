/**
 * Where the parts of a shape stand in a batch. Numbers, booleans and tags of n values stand in one
 * block, column after column, the widest first, so that every column is aligned:
 *
 *     f64 columns · i32 columns · u8 columns
 *
 * Strings, values of any kind and elements of lists stand behind it, densely: a value that is not
 * there takes no place. Both generators walk the shape in the same order and so give the same
 * numbers; elements of lists are a batch of their own.
 */
import type { Shape } from './record-shape.ts';

/** What stands behind the block. */
export type Extra =
  | { readonly type: 'strings' }
  | { readonly type: 'any' }
  | { readonly type: 'list'; readonly element: Shape };

/** Tags of a value that may be missing. */
export const PRESENT = 0;
export const IS_NULL = 1;
export const IS_UNDEFINED = 2;
export const IS_ABSENT = 3;

export class ColumnPlan {
  f64 = 0;
  i32 = 0;
  u8 = 0;
  readonly extras: Extra[] = [];

  /** Bytes of the block for each value. */
  get rowBytes(): number {
    return this.f64 * 8 + this.i32 * 4 + this.u8;
  }

  /** Names of the base indexes, set up at the head of a generated function. */
  declareBases(): string {
    const lines: string[] = [];
    for (let c = 0; c < this.f64; c++) lines.push(`const f${c} = ${c} * n;`);
    for (let c = 0; c < this.i32; c++) lines.push(`const i${c} = ${2 * this.f64 + c} * n;`);
    for (let c = 0; c < this.u8; c++)
      lines.push(`const u${c} = ${8 * this.f64 + 4 * this.i32 + c} * n;`);
    for (let e = 0; e < this.extras.length; e++) lines.push(`const x${e} = X[${e}];`);
    return lines.join('\n');
  }

  numberColumn(): string {
    return `F[f${this.f64++} + r]`;
  }

  intColumn(): string {
    return `I[i${this.i32++} + r]`;
  }

  byteColumn(): string {
    return `U[u${this.u8++} + r]`;
  }

  /** Index of the new part. */
  extra(extra: Extra): number {
    return this.extras.push(extra) - 1;
  }
}

/** Larger memory is not kept: one batch with long lists would hold it for ever. */
const KEPT_BYTES_MAX = 4 * 1024 * 1024;

/** Memory for the block, used again for every batch. */
export class ColumnScratch {
  f64: Float64Array = new Float64Array(0);
  i32: Int32Array = new Int32Array(0);
  u8: Uint8Array = new Uint8Array(0);

  fit(bytes: number): void {
    const size = this.u8.length;
    if (bytes <= size && (size <= KEPT_BYTES_MAX || bytes > KEPT_BYTES_MAX)) return;
    const buffer = new ArrayBuffer(
      Math.ceil(Math.max(bytes, Math.min(size * 2, KEPT_BYTES_MAX)) / 8) * 8,
    );
    this.f64 = new Float64Array(buffer);
    this.i32 = new Int32Array(buffer);
    this.u8 = new Uint8Array(buffer);
  }
}
