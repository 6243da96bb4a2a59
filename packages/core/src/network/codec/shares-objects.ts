/**
 * Whether some object can be reached twice from a value, over a cycle too; or the value is very
 * deep.
 */
export function sharesObjects(value: unknown): boolean {
  return new ObjectWalk().meetsTwice(value, 0);
}

const DEPTH_MAX = 64;

class ObjectWalk {
  readonly #seen = new Set<object>();

  meetsTwice(value: unknown, depth: number): boolean {
    if (typeof value !== 'object' || value === null) return false;
    if (depth > DEPTH_MAX || this.#seen.has(value)) return true;
    this.#seen.add(value);
    if (value instanceof Map) {
      for (const [key, entry] of value)
        if (this.meetsTwice(key, depth + 1) || this.meetsTwice(entry, depth + 1)) return true;
    } else if (value instanceof Set) {
      for (const element of value) if (this.meetsTwice(element, depth + 1)) return true;
    } else if (ArrayBuffer.isView(value)) {
      return this.meetsTwice(value.buffer, depth + 1);
    } else if (value instanceof Error) {
      return this.meetsTwice(value.cause, depth + 1);
    } else {
      const fields = value as Record<string, unknown>;
      for (const key in fields) if (this.meetsTwice(fields[key], depth + 1)) return true;
    }
    return false;
  }
}
