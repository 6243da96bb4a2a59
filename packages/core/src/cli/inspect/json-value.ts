/**
 * Stored values as JSON. What JSON lacks becomes an object with one field that begins with `$`:
 * `{"$bigint":"1"}`, `{"$number":"NaN"}`, `{"$date":…}`, `{"$map":[[key,value]]}`, `{"$set":[…]}`,
 * `{"$bytes":base64}`, `{"$undefined":true}`, `{"$error":message}`, `{"$regexp":"/a/i"}`. What is
 * met again inside itself is `{"$cycle":true}`.
 */

export function toJsonText(value: unknown): string {
  return JSON.stringify(toJson(value, []));
}

function toJson(value: unknown, around: readonly object[]): unknown {
  switch (typeof value) {
    case 'bigint':
      return { $bigint: value.toString() };
    case 'number':
      if (Object.is(value, -0)) return { $number: '-0' };
      return Number.isFinite(value) ? value : { $number: String(value) };
    case 'undefined':
      return { $undefined: true };
    case 'object':
      return value === null ? null : objectToJson(value, around);
    default:
      return value;
  }
}

function objectToJson(value: object, around: readonly object[]): unknown {
  if (around.includes(value)) return { $cycle: true };
  const inside = [...around, value];
  if (Array.isArray(value)) return Array.from(value, (item) => toJson(item, inside));
  if (value instanceof Map)
    return {
      $map: Array.from(value, ([key, item]) => [toJson(key, inside), toJson(item, inside)]),
    };
  if (value instanceof Set) return { $set: Array.from(value, (item) => toJson(item, inside)) };
  if (value instanceof Date)
    return { $date: Number.isNaN(value.getTime()) ? null : value.toISOString() };
  if (value instanceof RegExp) return { $regexp: String(value) };
  if (value instanceof Error) return { $error: value.message };
  if (value instanceof ArrayBuffer) return { $bytes: base64(new Uint8Array(value)) };
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteOffset, byteLength } = value;
    return { $bytes: base64(new Uint8Array(buffer, byteOffset, byteLength)) };
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, toJson(item, inside)]),
  );
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
