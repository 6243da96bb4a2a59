/** Compares the ids of records: what should be there with what is. */
const NAMED_MAX = 5;

/** What is wrong with `actual`, or `null`; `isExact`: nothing else may be there, and none twice. */
export function difference(
  expected: readonly string[],
  actual: readonly string[],
  isExact: boolean,
): string | null {
  const times = new Map<string, number>();
  for (const id of actual) times.set(id, (times.get(id) ?? 0) + 1);
  const missing = expected.filter((id) => !times.has(id));
  if (missing.length > 0) return `lacks ${missing.length} of ${expected.length}: ${some(missing)}`;
  if (!isExact) return null;
  const wanted = new Set(expected);
  const more = [...times.keys()].filter((id) => !wanted.has(id));
  if (more.length > 0) return `has ${more.length} from behind the barrier: ${some(more)}`;
  const twice = [...times].filter(([, count]) => count > 1).map(([id]) => id);
  return twice.length > 0 ? `has ${twice.length} more than once: ${some(twice)}` : null;
}

function some(ids: readonly string[]): string {
  return ids.slice(0, NAMED_MAX).join(', ') + (ids.length > NAMED_MAX ? ' …' : '');
}
