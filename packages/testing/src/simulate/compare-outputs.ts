/**
 * Compares what a sink holds with what it should hold, without regard to order. A sink that commits
 * in two phases must hold each record as often as expected; what writes at once may repeat records
 * after a failure, so there only which records it holds is compared.
 */
import { canonical } from './canonical.ts';

/** `exact`: each as often as expected. `repeatable`: at least once, repetition is allowed. */
export type Comparison = 'exact' | 'repeatable';

export interface ChangedRecord {
  readonly expected: unknown;
  readonly actual: unknown;
  /** Fields that differ. */
  readonly fields: readonly string[];
}

export interface OutputDifference {
  /** Uid or name. */
  readonly sink: string;
  readonly comparison: Comparison;
  readonly expectedCount: number;
  readonly actualCount: number;
  /** Expected, and not there, or not often enough; without what is in `changed`. */
  readonly missing: readonly unknown[];
  /** There, and not expected, or too often; without what is in `changed`. */
  readonly unexpected: readonly unknown[];
  /** Pairs of a missing and an unexpected record that are alike. */
  readonly changed: readonly ChangedRecord[];
}

/** Pairs are looked for among so many at most: the search is quadratic. */
const PAIRED_MAX = 100;

export function compareOutput(
  sink: string,
  comparison: Comparison,
  {
    expected,
    actual,
  }: { readonly expected: readonly unknown[]; readonly actual: readonly unknown[] },
): OutputDifference | null {
  const surplus = new Map<string, unknown[]>();
  for (const record of actual) {
    const text = canonical(record);
    const same = surplus.get(text);
    if (same === undefined) surplus.set(text, [record]);
    else if (comparison === 'exact') same.push(record);
  }
  const missing: unknown[] = [];
  const seen = new Set<string>();
  for (const record of expected) {
    const text = canonical(record);
    if (comparison === 'repeatable' && seen.has(text)) continue;
    seen.add(text);
    const same = surplus.get(text);
    if (same === undefined) missing.push(record);
    else if (same.length > 1) same.pop();
    else surplus.delete(text);
  }
  const unexpected = [...surplus.values()].flat();
  if (missing.length === 0 && unexpected.length === 0) return null;
  const changed = takePairs(missing, unexpected);
  const expectedCount = expected.length;
  return {
    sink,
    comparison,
    expectedCount,
    actualCount: actual.length,
    missing,
    unexpected,
    changed,
  };
}

/** Records of a repeatable sink that are there more often than expected. */
export function countRepeated(expected: readonly unknown[], actual: readonly unknown[]): number {
  return Math.max(0, actual.length - expected.length);
}

/** Takes alike records out of both lists. */
function takePairs(missing: unknown[], unexpected: unknown[]): ChangedRecord[] {
  const pairs: ChangedRecord[] = [];
  for (const expected of missing.slice(0, PAIRED_MAX)) {
    let best: { readonly actual: unknown; readonly fields: readonly string[] } | null = null;
    for (const actual of unexpected.slice(0, PAIRED_MAX)) {
      const fields = differingFields(expected, actual);
      if (fields === null || (best !== null && fields.length >= best.fields.length)) continue;
      best = { actual, fields };
    }
    if (best === null) continue;
    missing.splice(missing.indexOf(expected), 1);
    unexpected.splice(unexpected.indexOf(best.actual), 1);
    pairs.push({ expected, ...best });
  }
  return pairs;
}

/** `null` when the two are not alike: at least half of their fields must be equal. */
function differingFields(a: unknown, b: unknown): readonly string[] | null {
  if (!isPlain(a) || !isPlain(b)) return null;
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  const differing = names.filter((name) => canonical(a[name]) !== canonical(b[name]));
  return differing.length * 2 <= names.length ? differing : null;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
