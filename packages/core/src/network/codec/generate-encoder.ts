/**
 * Generates, for a shape, the function that takes a batch apart into columns. It checks every value
 * against the shape and stops at the first that does not fit, since a value that is not exactly of
 * the shape would come back as another one. Fields are compared name by name, so that a field more,
 * less or in another place is found: 9 ns for an object of five.
 */
import { compile } from '../../base/generated-code.ts';
import { ColumnPlan, IS_ABSENT, IS_NULL, IS_UNDEFINED, PRESENT } from './column-plan.ts';
import { isPlainArray } from './record-shape.ts';
import { sharesObjects } from './shares-objects.ts';
import type { ColumnScratch } from './column-plan.ts';
import type { Field, ObjectShape, Shape } from './record-shape.ts';

/** Every value fitted. */
export const ALL_FIT = -1;
/** A value holds an object twice, or a cycle: no columns can say so. */
export const SHARED = -2;

/**
 * Fills the columns and the lists of the parts behind them; gives the index of the first value that
 * does not fit, or `ALL_FIT`, or `SHARED`.
 */
export type EncodeColumns = (
  values: readonly unknown[],
  scratch: ColumnScratch,
  extras: readonly unknown[][],
) => number;

export interface GeneratedEncoder {
  readonly plan: ColumnPlan;
  readonly encode: EncodeColumns;
}

export function generateEncoder(shape: Shape): GeneratedEncoder {
  const generator = new EncoderGenerator();
  const loop = generator.value(shape, 'v');
  const body = `
return function encode(V, { f64: F, i32: I, u8: U }, X) {
const n = V.length;
${generator.plan.declareBases()}
for (let r = 0; r < n; r++) {
const v = V[r];
${generator.declareObjects()}
${loop}
${generator.distinctness()}
}
return ${ALL_FIT};
};`;
  const make = compile('C, isPlainArray, sharesObjects', body) as (
    constants: readonly unknown[],
    isPlain: typeof isPlainArray,
    shares: typeof sharesObjects,
  ) => EncodeColumns;
  const encode = make(generator.constants, isPlainArray, sharesObjects);
  return { plan: generator.plan, encode };
}

/** More pairs than this to compare: each value is searched instead. */
const PAIRS_MAX = 28;

class EncoderGenerator {
  readonly plan = new ColumnPlan();
  /** Arrays of names and prototypes, by index in `C`. */
  readonly constants: unknown[] = [];
  /** Variables that hold the objects of a value, by what can be the same object. */
  readonly #objects = new Map<string, string[]>();
  #variables = 0;

  /** Statements that put the value of a variable into its columns; `return r` where it misfits. */
  value(shape: Shape, variable: string): string {
    if (shape.kind === 'any') return this.#present(shape, variable);
    if (!shape.nullable) return this.#present(shape, variable);
    const tag = this.plan.byteColumn();
    return `
if (${variable} === null) ${tag} = ${IS_NULL};
else if (${variable} === undefined) ${tag} = ${IS_UNDEFINED};
else { ${tag} = ${PRESENT}; ${this.#present(shape, variable)} }`;
  }

  declareObjects(): string {
    const names = [...this.#objects.values()].flat();
    return `let ${['isDeep = false', ...names].join(', ')};`;
  }

  /**
   * A value that holds an object twice would come back with two of it: such a value does not fit.
   * Objects with a column of their own are compared; what is deeper is searched.
   */
  distinctness(): string {
    const alike = [...this.#objects.values()];
    const count = alike.reduce((sum, { length }) => sum + (length * (length - 1)) / 2, 0);
    const deep = `if (isDeep && sharesObjects(v)) return ${SHARED};`;
    if (count === 0) return deep;
    if (count > PAIRS_MAX) return `if (sharesObjects(v)) return ${SHARED};`;
    const pairs = alike.flatMap((names) =>
      names.flatMap((name, index) =>
        names.slice(0, index).map((other) => `(${name} !== undefined && ${name} === ${other})`),
      ),
    );
    return `${deep}\nif (${pairs.join(' || ')}) return ${SHARED};`;
  }

  #present(shape: Shape, v: string): string {
    switch (shape.kind) {
      case 'none':
        return 'return r;';
      case 'int':
        return `
if (typeof ${v} !== 'number' || (${v} | 0) !== ${v} || Object.is(${v}, -0)) return r;
${this.plan.intColumn()} = ${v};`;
      case 'number':
        return `if (typeof ${v} !== 'number') return r; ${this.plan.numberColumn()} = ${v};`;
      case 'boolean':
        return `
if (typeof ${v} !== 'boolean') return r;
${this.plan.byteColumn()} = ${v} ? 1 : 0;`;
      case 'string': {
        const list = `x${this.plan.extra({ type: 'strings' })}`;
        return `if (typeof ${v} !== 'string') return r; ${list}.push(${v});`;
      }
      case 'date':
        return `
if (!(${v} instanceof Date) || ${v}.__proto__ !== Date.prototype) return r;
${this.#remember('date', v)}
${this.plan.numberColumn()} = ${v}.getTime();`;
      case 'any':
        return `
if (typeof ${v} === 'object' && ${v} !== null) isDeep = true;
x${this.plan.extra({ type: 'any' })}.push(${v});`;
      case 'list':
        return this.#list(shape.element, v);
      case 'object':
        return this.#object(shape, v);
    }
  }

  #list(element: Shape, v: string): string {
    const list = `x${this.plan.extra({ type: 'list', element })}`;
    const each = this.#variable();
    return `
if (!Array.isArray(${v}) || !isPlainArray(${v})) return r;
${holdsObjects(element) ? 'isDeep = true;' : this.#remember('list', v)}
${this.plan.intColumn()} = ${v}.length;
for (let ${each} = 0; ${each} < ${v}.length; ${each}++) ${list}.push(${v}[${each}]);`;
  }

  #object(shape: ObjectShape, v: string): string {
    const prototype = `C[${this.constants.push(shape.prototype) - 1}]`;
    const remember = v === 'v' ? '' : this.#remember('object', v);
    const lines = [
      `if (typeof ${v} !== 'object' || ${v} === null || ${v}.__proto__ !== ${prototype}) return r;`,
      remember,
      this.#names(shape.fields, v),
    ];
    for (const field of shape.fields) lines.push(this.#field(field, v));
    return lines.join('\n');
  }

  /** The names are those of the shape, in its order; optional ones may be left out. */
  #names(fields: readonly Field[], v: string): string {
    const names = `C[${this.constants.push(fields.map(({ name }) => name)) - 1}]`;
    const at = this.#variable();
    if (fields.every(({ optional }) => !optional))
      return `
{ let ${at} = 0;
for (const k in ${v}) if (k !== ${names}[${at}++]) return r;
if (${at} !== ${fields.length}) return r; }`;
    const optional = `C[${this.constants.push(fields.map((field) => field.optional)) - 1}]`;
    return `
{ let ${at} = 0;
for (const k in ${v}) {
while (k !== ${names}[${at}]) if (${optional}[${at}++] !== true) return r;
${at}++; }
for (; ${at} < ${fields.length}; ${at}++) if (${optional}[${at}] !== true) return r; }`;
  }

  #field({ name, optional, shape }: Field, v: string): string {
    const variable = this.#variable();
    const key = JSON.stringify(name);
    const read = `${variable} = ${v}[${key}];`;
    if (!optional) return `const ${read}\n${this.value(shape, variable)}`;
    const tag = this.plan.byteColumn();
    return `
const ${read}
if (${variable} === undefined && !Object.hasOwn(${v}, ${key})) ${tag} = ${IS_ABSENT};
else { ${tag} = ${PRESENT}; ${this.value(shape, variable)} }`;
  }

  /** Keeps an object for the comparison at the end of the value, also out of a block. */
  #remember(kind: string, v: string): string {
    const names = this.#objects.get(kind) ?? [];
    const variable = `${v}_o`;
    names.push(variable);
    this.#objects.set(kind, names);
    return `${variable} = ${v};`;
  }

  #variable(): string {
    return `v${this.#variables++}`;
  }
}

/** Whether values of the shape are objects or can hold some. */
function holdsObjects(shape: Shape): boolean {
  return ['date', 'any', 'object', 'list'].includes(shape.kind);
}
