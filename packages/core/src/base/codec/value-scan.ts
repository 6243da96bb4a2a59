/**
 * Decides which of its two forms the value codec takes. A value is *simple* when msgpackr gives it
 * back exactly: then it is packed as it is. What msgpackr would lose (−0, holes, lone surrogates,
 * cycles, an object met twice, errors, …) or may not take goes through `value-graph.ts` instead.
 * Runs once per value ahead of packing; it allocates nothing for values of few objects.
 */

/** Deeper values go the other way, which does not recurse. */
const DEPTH_MAX = 64;
/** Up to so many objects are compared one by one, which is quicker than a set. */
const LINEAR_MAX = 8;
/** Milliseconds that msgpack's 64-bit timestamp reaches. */
const SIMPLE_DATE_END = 2 ** 34 * 1000;

const SIMPLE_VIEWS: ReadonlySet<unknown> = new Set([
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
  DataView,
]);

export class ValueScanner {
  /** The first `#visitedCount` count; the array is used again, not emptied. */
  readonly #visited: object[] = [];
  #visitedCount = 0;
  #visitedSet: Set<object> | null = null;

  /** Begins a value, of which `isSimple` may be asked part by part. */
  begin(): void {
    this.#visitedCount = 0;
    this.#visitedSet = null;
  }

  /** False too for what throws when it is read: the other way says where. */
  isSimple(value: unknown): boolean {
    try {
      return this.#isSimple(value, 0);
    } catch {
      return false;
    }
  }

  #isSimple(value: unknown, depth: number): boolean {
    switch (typeof value) {
      case 'string':
        return value.isWellFormed();
      case 'number':
        return value !== 0 || !Object.is(value, -0);
      case 'boolean':
      case 'undefined':
      case 'bigint':
        return true;
      case 'object':
        if (value === null) return true;
        return depth < DEPTH_MAX && this.#isFirstVisit(value) && this.#isSimpleObject(value, depth);
      default:
        return false;
    }
  }

  #isSimpleObject(value: object, depth: number): boolean {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype) return this.#areFieldsSimple(value, depth);
    if (Array.isArray(value)) return this.#isSimpleArray(value, depth);
    if (prototype === null) return this.#areFieldsSimple(value, depth);
    if (value instanceof Map) return prototype === Map.prototype && this.#isSimpleMap(value, depth);
    if (value instanceof Set) return prototype === Set.prototype && this.#isSimpleSet(value, depth);
    if (value instanceof Date) return prototype === Date.prototype && isSimpleDate(value);
    if (ArrayBuffer.isView(value))
      return SIMPLE_VIEWS.has(value.constructor) && !isDetached(value.buffer);
    if (value instanceof ArrayBuffer) return !value.resizable && !isDetached(value);
    return (
      !(Symbol.toStringTag in value) &&
      isOrdinary(value) &&
      Object.prototype.hasOwnProperty === (value as { hasOwnProperty?: unknown }).hasOwnProperty &&
      this.#areFieldsSimple(value, depth)
    );
  }

  #areFieldsSimple(value: object, depth: number): boolean {
    const fields = value as Record<string, unknown>;
    for (const key in fields) {
      // Names with a meaning of their own, in JavaScript and within msgpackr.
      if (key === '__proto__' || key === '__keys__' || !key.isWellFormed()) return false;
      if (!this.#isSimple(fields[key], depth + 1)) return false;
    }
    return true;
  }

  #isSimpleArray(array: readonly unknown[], depth: number): boolean {
    // As many keys as elements: then there are no holes, unless there are named fields as well.
    if (Object.keys(array).length !== array.length) return false;
    for (let i = 0; i < array.length; i++) {
      const element = array[i];
      if (element === undefined && !(i in array)) return false;
      if (!this.#isSimple(element, depth + 1)) return false;
    }
    return true;
  }

  #isSimpleMap(map: ReadonlyMap<unknown, unknown>, depth: number): boolean {
    for (const [key, value] of map)
      if (!this.#isSimple(key, depth + 1) || !this.#isSimple(value, depth + 1)) return false;
    return true;
  }

  #isSimpleSet(set: ReadonlySet<unknown>, depth: number): boolean {
    for (const value of set) if (!this.#isSimple(value, depth + 1)) return false;
    return true;
  }

  /** An object met twice would come back as two: only the other form keeps that it is one. */
  #isFirstVisit(value: object): boolean {
    if (this.#visitedSet !== null) {
      const sizeBefore = this.#visitedSet.size;
      return this.#visitedSet.add(value).size > sizeBefore;
    }
    const visited = this.#visited;
    const count = this.#visitedCount;
    for (let i = 0; i < count; i++) if (visited[i] === value) return false;
    visited[count] = value;
    this.#visitedCount = count + 1;
    if (count === LINEAR_MAX) this.#visitedSet = new Set(visited);
    return true;
  }
}

/** Its bytes were transferred to somebody else. */
export function isDetached(buffer: ArrayBufferLike): boolean {
  return 'detached' in buffer && buffer.detached;
}

/** No date, expression, error or box, also not one of another realm: there classes are others. */
export function isOrdinary(value: object): boolean {
  return Object.prototype.toString.call(value) === '[object Object]';
}

function isSimpleDate(date: Date): boolean {
  const time = date.getTime();
  return time >= 0 && time < SIMPLE_DATE_END;
}
