/**
 * A value as text: equal values have equal texts, whatever the order of their fields and whatever
 * class they were of before they crossed a thread. It is what outputs are compared by, and, cut to
 * a line, what people see of a record.
 */
export function canonical(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value);
    case 'bigint':
      return `${value}n`;
    case 'object':
      return value === null ? 'null' : ofObject(value);
    case 'undefined':
    case 'boolean':
      return String(value);
    case 'symbol':
    case 'function':
      return `[${typeof value}]`;
  }
}

const LINE_MAX = 200;

/** As a person reads it. */
export function shown(value: unknown): string {
  const text = canonical(value);
  return text.length <= LINE_MAX ? text : `${text.slice(0, LINE_MAX)}…`;
}

function ofObject(value: object): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(', ')}]`;
  if (value instanceof Date) return `Date(${Number(value)})`;
  if (value instanceof Map)
    return `Map(${sorted([...value], ([key, one]) => `${canonical(key)} => ${canonical(one)}`)})`;
  if (value instanceof Set) return `Set(${sorted([...value], canonical)})`;
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteOffset, byteLength } = value;
    const bytes = Buffer.from(buffer, byteOffset, byteLength).toString('hex');
    return `${value instanceof Uint8Array ? 'bytes' : value.constructor.name}(${bytes})`;
  }
  if (value instanceof RegExp) return String(value);
  if (value instanceof Error) return `${value.name}(${JSON.stringify(value.message)})`;
  // What is undefined is as good as absent: JSON and many sinks leave it out.
  const fields = Object.entries(value).filter(([, one]) => one !== undefined);
  if (fields.length === 0) return '{}';
  return `{ ${sorted(fields, ([name, one]) => `${fieldName(name)}: ${canonical(one)}`)} }`;
}

function sorted<T>(items: readonly T[], text: (item: T) => string): string {
  return items.map(text).toSorted().join(', ');
}

function fieldName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}
