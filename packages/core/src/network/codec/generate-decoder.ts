/**
 * Generates, for a shape, the function that puts values together again from columns. Objects are
 * literals, so that all records of a batch have one hidden class and their fields in order.
 */
import { compile } from '../../base/generated-code.ts';
import { ColumnPlan, IS_ABSENT, IS_UNDEFINED, PRESENT } from './column-plan.ts';
import type { ColumnScratch } from './column-plan.ts';
import type { Field, ObjectShape, Shape } from './record-shape.ts';

/** Makes `n` values from columns and from the values of the parts behind them. */
export type DecodeColumns = (
  n: number,
  scratch: ColumnScratch,
  extras: readonly (readonly unknown[])[],
) => unknown[];

export interface GeneratedDecoder {
  readonly plan: ColumnPlan;
  readonly decode: DecodeColumns;
}

export function generateDecoder(shape: Shape): GeneratedDecoder {
  const generator = new DecoderGenerator();
  const result = generator.value(shape);
  const cursors = generator.plan.extras.map((_, index) => `let at${index} = 0;`).join('\n');
  const body = `
return function decode(n, { f64: F, i32: I, u8: U }, X) {
${generator.plan.declareBases()}
${cursors}
const V = new Array(n);
for (let r = 0; r < n; r++) {
${generator.statements.join('\n')}
V[r] = ${result};
}
return V;
};`;
  const make = compile('', body) as () => DecodeColumns;
  return { plan: generator.plan, decode: make() };
}

class DecoderGenerator {
  readonly plan = new ColumnPlan();
  /** What has to run before the expression of the value. */
  statements: string[] = [];
  #variables = 0;

  /** An expression for a value; evaluated once, in the order in which it was asked for. */
  value(shape: Shape): string {
    if (!shape.nullable || shape.kind === 'any') return this.#present(shape);
    const tag = this.plan.byteColumn();
    const variable = this.#variable();
    const before = this.statements;
    this.statements = [];
    const present = this.#present(shape);
    const inside = this.statements.join('\n');
    this.statements = before;
    before.push(`
let ${variable} = null;
if (${tag} === ${PRESENT}) { ${inside}
${variable} = ${present}; }
else if (${tag} === ${IS_UNDEFINED}) ${variable} = undefined;`);
    return variable;
  }

  #present(shape: Shape): string {
    switch (shape.kind) {
      case 'none':
        return 'null';
      case 'int':
        return this.plan.intColumn();
      case 'number':
        return this.plan.numberColumn();
      case 'boolean':
        return `(${this.plan.byteColumn()} === 1)`;
      case 'date':
        return `new Date(${this.plan.numberColumn()})`;
      case 'string':
        return this.#next(this.plan.extra({ type: 'strings' }));
      case 'any':
        return this.#next(this.plan.extra({ type: 'any' }));
      case 'list': {
        const index = this.plan.extra({ type: 'list', element: shape.element });
        const count = this.plan.intColumn();
        return this.#keep(`x${index}.slice(at${index}, at${index} += ${count})`);
      }
      case 'object':
        return this.#object(shape);
    }
  }

  /** Taken at once, since the order of taking must not depend on where the value ends up. */
  #next(index: number): string {
    return this.#keep(`x${index}[at${index}++]`);
  }

  #object(shape: ObjectShape): string {
    if (shape.fields.some(({ optional }) => optional)) return this.#objectStepByStep(shape);
    const fields = shape.fields.map(
      ({ name, shape: field }) => `${JSON.stringify(name)}: ${this.value(field)}`,
    );
    return `{ ${fields.join(', ')} }`;
  }

  #objectStepByStep({ fields }: ObjectShape): string {
    const object = this.#keep('{}');
    for (const field of fields) this.#assign(object, field);
    return object;
  }

  #assign(object: string, { name, optional, shape }: Field): string {
    const target = `${object}[${JSON.stringify(name)}]`;
    if (!optional) {
      const value = this.value(shape);
      this.statements.push(`${target} = ${value};`);
      return target;
    }
    const tag = this.plan.byteColumn();
    const before = this.statements;
    this.statements = [];
    const value = this.value(shape);
    const inside = this.statements.join('\n');
    this.statements = before;
    before.push(`if (${tag} !== ${IS_ABSENT}) { ${inside}\n${target} = ${value}; }`);
    return target;
  }

  #keep(expression: string): string {
    const variable = this.#variable();
    this.statements.push(`const ${variable} = ${expression};`);
    return variable;
  }

  #variable(): string {
    return `v${this.#variables++}`;
  }
}
