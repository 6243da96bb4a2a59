/**
 * Stored values as JSON. What JSON lacks becomes an object with one field that begins with `$`:
 * `{"$bigint":"1"}`, `{"$number":"NaN"}`, `{"$date":…}`, `{"$map":[[key,value]]}`, `{"$set":[…]}`,
 * `{"$bytes":base64}`, `{"$undefined":true}`, `{"$error":message}`, `{"$regexp":"/a/i"}`. What is
 * met again inside itself is `{"$cycle":true}`.
 */

/** Made at once, without a copy of the value: rows come by the million. */
export function toJsonText(value: unknown): string {
  return textOf(value, NOTHING);
}

const NOTHING: readonly object[] = [];

function textOf(value: unknown, around: readonly object[]): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'number':
      if (Object.is(value, -0)) return '{"$number":"-0"}';
      return Number.isFinite(value) ? String(value) : `{"$number":"${value}"}`;
    case 'boolean':
      return value ? 'true' : 'false';
    case 'bigint':
      return `{"$bigint":"${value}"}`;
    case 'object':
      return value === null ? 'null' : textOfObject(value, around);
    default:
      return '{"$undefined":true}';
  }
}

function textOfObject(value: object, around: readonly object[]): string {
  if (around.includes(value)) return '{"$cycle":true}';
  const inside = [...around, value];
  if (Array.isArray(value)) return listText(value, inside);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    const text = textOfBuiltIn(value, inside);
    if (text !== null) return text;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  let text = '';
  for (const name of Object.keys(fields))
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${textOf(fields[name], inside)}`;
  return `{${text}}`;
}

/** `null`: it is none of those that JSON lacks. */
function textOfBuiltIn(value: object, inside: readonly object[]): string | null {
  if (value instanceof Map)
    return `{"$map":[${Array.from(value, (entry) => listText(entry, inside)).join(',')}]}`;
  if (value instanceof Set) return `{"$set":${listText([...value], inside)}}`;
  if (value instanceof Date)
    return `{"$date":${Number.isNaN(value.getTime()) ? 'null' : `"${value.toISOString()}"`}}`;
  if (value instanceof RegExp) return `{"$regexp":${JSON.stringify(String(value))}}`;
  if (value instanceof Error) return `{"$error":${JSON.stringify(value.message)}}`;
  if (value instanceof ArrayBuffer) return `{"$bytes":"${base64(new Uint8Array(value))}"}`;
  if (!ArrayBuffer.isView(value)) return null;
  const { buffer, byteOffset, byteLength } = value;
  return `{"$bytes":"${base64(new Uint8Array(buffer, byteOffset, byteLength))}"}`;
}

/** Holes are `undefined`, as for whoever reads them. */
function listText(list: readonly unknown[], inside: readonly object[]): string {
  return `[${Array.from(list, (item) => textOf(item, inside)).join(',')}]`;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
