/**
 * The shape of records as far as a columnar codec needs it: a tree of kinds. Shapes are inferred
 * from values and only ever widened by `mergeShapes`, so learning ends. What has no shape of its
 * own (maps, sets, bigints, typed arrays, objects used as dictionaries, mixtures) is `any`.
 * `shapeKey` is how a shape stands in a frame: JSON, from which the receiver makes its decoder.
 */

import { isOrdinary } from '../../base/codec/value-scan.ts';

/** `nullable`: null and undefined occur as well. */
export type Shape = ({ readonly kind: PrimitiveKind } | ObjectShape | ListShape) & {
  readonly nullable: boolean;
};

/** `none`: nothing but null and undefined has been seen. `int`: 32 bits, and no −0. */
type PrimitiveKind = 'none' | 'int' | 'number' | 'boolean' | 'string' | 'date' | 'any';

export interface ObjectShape {
  readonly kind: 'object';
  /** In the order in which every record has them. */
  readonly fields: readonly Field[];
  /** Of the objects seen; not part of the key, as structured clone drops it. */
  readonly prototype: object;
}

export interface ListShape {
  readonly kind: 'list';
  readonly element: Shape;
}

export interface Field {
  readonly name: string;
  /** Some objects do not have it. */
  readonly optional: boolean;
  readonly shape: Shape;
}

/** A field more costs a column in every record, and absent ones a byte each. */
const FIELDS_MAX = 512;
const OPTIONAL_MAX = 16;
const DEPTH_MAX = 8;

const NONE: Shape = { kind: 'none', nullable: false };
const ANY: Shape = { kind: 'any', nullable: false };
const MISSING: Shape = { kind: 'none', nullable: true };
const INT: Shape = { kind: 'int', nullable: false };
const NUMBER: Shape = { kind: 'number', nullable: false };
const BOOLEAN: Shape = { kind: 'boolean', nullable: false };
const STRING: Shape = { kind: 'string', nullable: false };
const DATE: Shape = { kind: 'date', nullable: false };

/** The shape all of these values have. */
export function inferShape(values: readonly unknown[]): Shape {
  return mergedShape(values, (value) => shapeOf(value, { depth: 0, met: new Set() }));
}

/** `met`: objects of the same value that were looked into. */
interface Place {
  readonly depth: number;
  readonly met: Set<object>;
}

function mergedShape(values: readonly unknown[], of: (value: unknown) => Shape): Shape {
  let shape = NONE;
  for (const value of values) {
    shape = mergeShapes(shape, of(value));
    if (shape.kind === 'any') return shape;
  }
  return shape;
}

/**
 * Looks into an object that is met again only once: a value whose parts name each other has as many
 * ways through it as there are orders of its parts.
 */
function shapeOf(value: unknown, { depth, met }: Place): Shape {
  switch (typeof value) {
    case 'number':
      return (value | 0) === value && !Object.is(value, -0) ? INT : NUMBER;
    case 'string':
      return STRING;
    case 'boolean':
      return BOOLEAN;
    case 'undefined':
      return MISSING;
    case 'object':
      if (value === null) return MISSING;
      if (depth >= DEPTH_MAX) return ANY;
      if (met.has(value)) return NONE;
      met.add(value);
      return shapeOfObject(value, { depth: depth + 1, met });
    default:
      return ANY;
  }
}

function shapeOfObject(value: object, inside: Place): Shape {
  if (Array.isArray(value)) {
    if (!isPlainArray(value)) return ANY;
    const element = mergedShape(value, (each) => shapeOf(each, inside));
    return { kind: 'list', nullable: false, element };
  }
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === Date.prototype && value instanceof Date) return DATE;
  if (prototype === null || !isRecordLike(value, prototype)) return ANY;
  const names = Object.keys(value);
  if (names.length > FIELDS_MAX || names.includes('__proto__') || inheritsFields(value, names))
    return ANY;
  const fields = names.map((name) => {
    const field = (value as Record<string, unknown>)[name];
    return { name, optional: false, shape: shapeOf(field, inside) };
  });
  return { kind: 'object', nullable: false, fields, prototype };
}

/** Without holes and without fields of its own. */
export function isPlainArray(array: readonly unknown[]): boolean {
  if (Object.getPrototypeOf(array) !== Array.prototype) return false;
  if (Object.keys(array).length !== array.length) return false;
  for (let i = 0; i < array.length; i++) if (array[i] === undefined && !(i in array)) return false;
  return true;
}

/** An object that structured clone takes for its fields alone; also one of another realm. */
function isRecordLike(value: object, prototype: object): boolean {
  if (Symbol.toStringTag in value) return false;
  return prototype === Object.prototype || isOrdinary(value);
}

function inheritsFields(value: object, own: readonly string[]): boolean {
  let count = 0;
  for (const _ in value) count++;
  return count !== own.length;
}

/** The smallest shape that both fit. */
export function mergeShapes(a: Shape, b: Shape): Shape {
  const nullable = a.nullable || b.nullable;
  if (a.kind === 'none') return withNullable(b, nullable);
  if (b.kind === 'none') return withNullable(a, nullable);
  if (a.kind === 'any' || b.kind === 'any') return ANY;
  if (a.kind === 'object' && b.kind === 'object') return mergeObjects(a, b, nullable);
  if (a.kind === 'list' && b.kind === 'list')
    return { kind: 'list', nullable, element: mergeShapes(a.element, b.element) };
  if (a.kind === b.kind) return withNullable(a, nullable);
  const areNumbers = (a.kind === 'int' || a.kind === 'number') && isNumeric(b);
  return areNumbers ? withNullable(NUMBER, nullable) : ANY;
}

function isNumeric(shape: Shape): boolean {
  return shape.kind === 'int' || shape.kind === 'number';
}

/** `any` has null and undefined among its values anyway. */
function withNullable(shape: Shape, nullable: boolean): Shape {
  return shape.nullable === nullable || shape.kind === 'any' ? shape : { ...shape, nullable };
}

function mergeObjects(a: ObjectShape, b: ObjectShape, nullable: boolean): Shape {
  if (a.prototype !== b.prototype) return ANY;
  const fields = mergeFields(a.fields, b.fields);
  if (fields === null) return ANY;
  return { kind: 'object', nullable, fields, prototype: a.prototype };
}

/** Null when the fields stand in another order, or when too few are always there. */
function mergeFields(a: readonly Field[], b: readonly Field[]): readonly Field[] | null {
  const merged: Field[] = [];
  const namesOfB = new Set(b.map(({ name }) => name));
  let next = 0;
  const takeOptional = (field: Field): void => void merged.push({ ...field, optional: true });
  for (const field of a) {
    if (!namesOfB.has(field.name)) {
      takeOptional(field);
      continue;
    }
    while (b[next] !== undefined && b[next]!.name !== field.name) takeOptional(b[next++]!);
    const other = b[next++];
    if (other === undefined) return null;
    const optional = field.optional || other.optional;
    merged.push({ name: field.name, optional, shape: mergeShapes(field.shape, other.shape) });
  }
  for (const field of b.slice(next)) takeOptional(field);
  if (new Set(merged.map(({ name }) => name)).size !== merged.length) return null;
  const optionalCount = merged.filter(({ optional }) => optional).length;
  const tooMany = optionalCount > OPTIONAL_MAX || optionalCount > merged.length - optionalCount + 4;
  return tooMany || merged.length > FIELDS_MAX ? null : merged;
}

/** Fields and elements in all of the shape: each takes code and a column. */
export function sizeOfShape(shape: Shape): number {
  if (shape.kind === 'list') return 1 + sizeOfShape(shape.element);
  if (shape.kind !== 'object') return 1;
  return shape.fields.reduce((size, field) => size + sizeOfShape(field.shape), 1);
}

/** Whether all objects of the shape are plain: then its key says all there is to it. */
export function isPlain(shape: Shape): boolean {
  if (shape.kind === 'list') return isPlain(shape.element);
  if (shape.kind !== 'object') return true;
  return (
    shape.prototype === Object.prototype && shape.fields.every((field) => isPlain(field.shape))
  );
}

/** Each kind as a letter; an upper-case letter is nullable. Part of the format of frames. */
const LETTERS: Readonly<Record<Shape['kind'], string>> = {
  none: 'x',
  int: 'i',
  number: 'n',
  boolean: 'b',
  string: 's',
  date: 'd',
  any: 'a',
  object: 'o',
  list: 'l',
};
const KINDS: ReadonlyMap<string, Shape['kind']> = new Map(
  Object.entries(LETTERS).map(([kind, letter]) => [letter, kind as Shape['kind']]),
);

type Written = string | readonly [string, ...unknown[]];

export function shapeKey(shape: Shape): string {
  return JSON.stringify(written(shape));
}

function written(shape: Shape): Written {
  const letter = shape.nullable ? LETTERS[shape.kind].toUpperCase() : LETTERS[shape.kind];
  if (shape.kind === 'list') return [letter, written(shape.element)];
  if (shape.kind !== 'object') return letter;
  const fields = shape.fields.flatMap(({ name, optional, shape: field }) => [
    optional ? `?${name}` : `.${name}`,
    written(field),
  ]);
  return [letter, ...fields];
}

/** Throws for what `shapeKey` did not write. */
export function parseShape(key: string): Shape {
  return readShape(JSON.parse(key) as Written);
}

function readShape(text: Written): Shape {
  const letter = typeof text === 'string' ? text : text[0];
  const kind = KINDS.get(letter.toLowerCase());
  if (kind === undefined) throw new Error(`there is no kind of column ${letter}`);
  const nullable = letter !== LETTERS[kind];
  const rest = typeof text === 'string' ? [] : text.slice(1);
  if (kind === 'list') return { kind, nullable, element: readShape(rest[0] as Written) };
  if (kind !== 'object') return { kind, nullable };
  const fields: Field[] = [];
  for (let i = 0; i < rest.length; i += 2) {
    const name = rest[i] as string;
    const optional = name.startsWith('?');
    fields.push({ name: name.slice(1), optional, shape: readShape(rest[i + 1] as Written) });
  }
  return { kind, nullable, fields, prototype: Object.prototype };
}
