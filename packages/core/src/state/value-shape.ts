/**
 * Of what kind a value is, as far as it can be seen at run time: `number`, `Date`, or the kinds of
 * an object's fields. With it stored values are compared with what a job declares, where nobody
 * gave the state a version or a schema. Pure; cost is that of the first few levels of a value.
 */

/** A name such as `number` or `Map`; for an object the shapes of its fields. */
export type Shape = string | { readonly [field: string]: Shape };

/** In what two shapes differ. `path` is that of the field; empty: the value itself. */
export interface ShapeMismatch {
  readonly path: string;
  readonly stored: string;
  readonly declared: string;
}

/** Deeper objects are just objects. */
const DEPTH_MAX = 3;
/** Wider objects are taken for dictionaries: their fields are data, not type. */
export const FIELDS_MAX = 24;

/** An object, of which no more is said. */
const OBJECT = 'object';

/** `number`, `null`, `Date`, `Array`, …; `null` for an object whose fields tell more. */
export function kindOf(value: unknown): string | null {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  if (Array.isArray(value)) return 'Array';
  const name = Object.prototype.toString.call(value).slice(8, -1);
  return name === 'Object' ? null : name;
}

export function shapeOf(value: unknown, depth: number = DEPTH_MAX): Shape {
  const kind = kindOf(value);
  if (kind !== null) return kind;
  const fields = Object.entries(value as object);
  if (depth === 0 || fields.length > FIELDS_MAX) return OBJECT;
  return Object.fromEntries(fields.map(([name, field]) => [name, shapeOf(field, depth - 1)]));
}

/** As TypeScript would write it: `{ n: number, at: Date }`. */
export function shapeText(shape: Shape): string {
  if (typeof shape === 'string') return shape;
  const fields = Object.entries(shape).map(([name, field]) => `${name}: ${shapeText(field)}`);
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

/**
 * `null`: a value of the stored shape may be one of the declared type. Fields that only one side
 * has may be optional, and nothing at all may stand for anything.
 */
export function mismatchOf(stored: Shape, declared: Shape): ShapeMismatch | null {
  const difference = differenceOf(stored, declared, '');
  if (difference !== null || typeof stored === 'string' || typeof declared === 'string')
    return difference;
  const names = Object.keys(stored);
  const isStranger = names.length > 0 && names.every((name) => !(name in declared));
  if (!isStranger || Object.keys(declared).length === 0) return null;
  return { path: '', stored: shapeText(stored), declared: shapeText(declared) };
}

/** Fields of the declared shape that the stored one has not. */
export function missingFields(stored: Shape, declared: Shape): readonly string[] {
  if (typeof stored === 'string' || typeof declared === 'string') return [];
  return Object.keys(declared).filter((name) => !(name in stored) && !isNothing(declared[name]!));
}

function differenceOf(stored: Shape, declared: Shape, path: string): ShapeMismatch | null {
  if (isNothing(stored) || isNothing(declared)) return null;
  if (typeof stored === 'string' || typeof declared === 'string') {
    if (stored === declared || (isObject(stored) && isObject(declared))) return null;
    return { path, stored: shapeText(stored), declared: shapeText(declared) };
  }
  for (const [name, field] of Object.entries(stored)) {
    const other = declared[name];
    if (other === undefined) continue;
    const difference = differenceOf(field, other, path === '' ? name : `${path}.${name}`);
    if (difference !== null) return difference;
  }
  return null;
}

function isNothing(shape: Shape): boolean {
  return shape === 'undefined' || shape === 'null';
}

function isObject(shape: Shape): boolean {
  return typeof shape !== 'string' || shape === OBJECT;
}
