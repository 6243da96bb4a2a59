/**
 * Generates the record path of one chain: functions in which the operators that follow each other
 * are one piece of straight code, with the user's functions as constants. Three kinds of entry:
 * `run` goes through a batch for the head of the chain, `collect` takes a result of an operator
 * that is called and not inlined, `emitter` is the `emit` of a process function's context.
 *
 * The code must do what the push path does (`processElement` of each operator), which stays as
 * fallback and as the oracle of a test. Watermarks, timers and snapshots always take the push path.
 * A local `s` tells which step runs, so that an error names its operator; the cell `A[0]` tells
 * other threads the same (`active-operator.ts`).
 */
import { compile } from '../../base/generated-code.ts';
import { emittedLate, failedBehind } from '../operators/function-contract.ts';
import type { SinkOperator } from '../operators/sink.ts';
import type { OperatorContext, StreamOperator } from '../operators/stream-operator.ts';
import type { InlinedEdge, InlinedOperator, InlinedSourceOutput } from './inlined.ts';
import type { Output } from './output.ts';

/** What follows an operator: operators chained behind it, then edges. */
export interface Targets {
  readonly operators: readonly ChainedOperator[];
  readonly outputs: readonly Output[];
}

export interface ChainedOperator {
  readonly operator: StreamOperator;
  readonly next: Targets;
}

/** What has to have room before another record is handled. */
export interface Room {
  readonly partitions: readonly InlinedEdge['partition'][];
  readonly sinks: readonly SinkOperator[];
}

/** Handles values[from …] until `end` or until there is no room; gives the index of the next. */
export type RunBatch = (
  values: readonly unknown[],
  timestamps: Float64Array | null,
  from: number,
  end: number,
) => number;

/** More operators than this in one function are called: V8 does not optimise huge functions. */
const INLINED_MAX = 24;

export function generateRun(head: ChainedOperator, room: Room, inputIndex: 0 | 1): RunBatch {
  const code = new ChainCode();
  const handle = inputIndex === 0 ? code.element(head, 'v', 't') : code.secondInput(head.operator);
  return code.compile(`
return function run(V, T, from, end) {
let s = 0;
let i = from;
try {
while (i < end) {
const v = V[i];
const t = T === null ? NaN : T[i];
i++;
${handle}
if (!(${code.room(room)})) break;
}
} catch (error) { throw fail(error, s); }
return i;
};`) as RunBatch;
}

export function generateCollect(targets: Targets): Output['collect'] {
  const code = new ChainCode();
  const handle = code.targets(targets, 'v', 't');
  return code.compile(`
return function collect(v, t) {
let s = 0;
try { ${handle} } catch (error) { throw fail(error, s); }
};`) as Output['collect'];
}

/** For `emit` of a context that knows the timestamp; afterwards its operator is active again. */
export function generateEmitter(
  targets: Targets,
  element: { readonly resultTimestamp: number },
  owner: OperatorContext,
): (result: unknown) => void {
  const code = new ChainCode();
  const context = code.constant(element);
  const handle = code.targets(targets, 'v', 't');
  return code.compile(`
return function emit(v) {
${code.refuseLate(owner)}
let s = 0;
const t = ${context}.resultTimestamp;
try { ${handle} } catch (error) { throw ${code.failedBehind(owner)}(fail(error, s)); }
${code.activate(owner)}
};`) as (result: unknown) => void;
}

/** `collect` of what a source hands to its reader. */
export function generateSourceCollect(
  head: ChainedOperator,
  source: Extract<InlinedOperator, { kind: 'source' }>,
  room: Room,
): InlinedSourceOutput['collect'] {
  const code = new ChainCode();
  const to = code.constant(source.output);
  const time = code.time(head.operator, source);
  const handle = code.targets(head.next, 'v', 't');
  return code.compile(`
return function collect(v, sourceTimestamp, splitId) {
let s = 0;
try {
${time}
${to}.collected++;
${handle}
${to}.remaining = ${code.room(room)} ? ${to}.remaining - 1 : 0;
${code.activate(head.operator.context)}
} catch (error) { throw fail(error, s); }
};`) as InlinedSourceOutput['collect'];
}

class ChainCode {
  readonly #constants: unknown[] = [];
  readonly #names = new Map<unknown, string>();
  /** What a step's error becomes, by step. Step 0 is the engine's own. */
  readonly #failures: ((error: unknown) => unknown)[] = [(error) => error];
  /** Functions and variables beside the main function. */
  readonly #hoisted: string[] = [];
  #variables = 0;
  #inlined = 0;

  compile(main: string): unknown {
    const names = [...this.#names].map(([, name], index) => `const ${name} = C[${index}];`);
    const body = [...names, ...this.#hoisted, main].join('\n');
    const fail = (error: unknown, step: number): unknown =>
      (this.#failures[step] ?? ((same: unknown) => same))(error);
    return compile('C, fail', body)(this.#constants, fail) as unknown;
  }

  /** Name of a constant. */
  constant(value: unknown): string {
    const known = this.#names.get(value);
    if (known !== undefined) return known;
    const name = `c${this.#constants.push(value) - 1}`;
    this.#names.set(value, name);
    return name;
  }

  room({ partitions, sinks }: Room): string {
    const conditions = [
      ...partitions.map((partition) => `${this.constant(partition)}.isAvailable`),
      ...sinks.map((sink) => `${this.constant(sink)}.isWritable`),
    ];
    return conditions.length === 0 ? 'true' : conditions.join(' && ');
  }

  activate({ active, operator }: OperatorContext): string {
    return `${this.constant(active.cells)}[0] = ${operator.node + 1};`;
  }

  /** Returns at once from an `emit` that is called when its function has returned. */
  refuseLate(owner: OperatorContext): string {
    const { active, operator } = owner;
    const late = this.constant(() => emittedLate(owner));
    return `if (${this.constant(active.cells)}[0] !== ${operator.node + 1}) return ${late}();`;
  }

  /** Name of what every error goes through that an `emit` lets out. */
  failedBehind(owner: OperatorContext): string {
    return this.constant((error: unknown) => failedBehind(owner, error));
  }

  /** Sets `t`, the event time of a record of a source. */
  time(
    operator: StreamOperator,
    { output, timestampOf, hasWatermarks }: Extract<InlinedOperator, { kind: 'source' }>,
  ): string {
    const to = this.constant(output);
    const lines = [`const t = sourceTimestamp;`];
    if (timestampOf !== null)
      lines[0] = `
${this.#step(operator, 'timestamp function')}
const t = ${this.constant(timestampOf)}(v, sourceTimestamp);
s = 0; if (typeof t !== 'number' || t !== t) ${to}.checkTime(t);`;
    if (hasWatermarks) lines.push(`${to}.advance(t, splitId);`);
    return lines.join('\n');
  }

  /** Hands a value to everything that follows. */
  targets({ operators, outputs }: Targets, value: string, timestamp: string): string {
    return [
      ...operators.map((target) => this.element(target, value, timestamp)),
      ...outputs.map((output) => this.#output(output, value, timestamp)),
    ].join('\n');
  }

  element(target: ChainedOperator, value: string, timestamp: string): string {
    const inlined = this.#inlined < INLINED_MAX ? target.operator.inlined() : null;
    if (inlined === null) {
      const operator = this.constant(target.operator);
      return `s = 0; ${operator}.processElement(${value}, ${timestamp});`;
    }
    this.#inlined++;
    return `{ ${this.#inline(target, inlined, [value, timestamp])} }`;
  }

  secondInput(operator: StreamOperator): string {
    return `${this.constant(operator)}.processElement2(v, t);`;
  }

  #inline(
    { operator, next }: ChainedOperator,
    inlined: InlinedOperator,
    [value, timestamp]: readonly [string, string],
  ): string {
    switch (inlined.kind) {
      case 'map': {
        const result = this.#variable();
        return `
${this.#step(operator, 'map')} const ${result} = ${this.constant(inlined.fn)}.map(${value});
if (${result} instanceof Promise) ${this.#check(operator, result, 'map')}
${this.targets(next, result, timestamp)}`;
      }
      case 'filter': {
        const result = this.#variable();
        return `
${this.#step(operator, 'filter')} const ${result} = ${this.constant(inlined.fn)}.filter(${value});
if (typeof ${result} !== 'boolean') ${this.#check(operator, result, 'filter')}
if (${result}) { ${this.targets(next, value, timestamp)} }`;
      }
      case 'flatMap':
        return this.#flatMap({ operator, next }, inlined, [value, timestamp]);
      case 'process':
        return this.#process(operator, inlined, [value, timestamp]);
      case 'keyedProcess': {
        const key = this.#variable();
        const selector = this.constant(inlined.keySelector);
        return `
${this.#step(operator, 'key function')} const ${key} = ${selector}(${value});
s = 0; ${this.constant(inlined.backend)}.setCurrentKey(${key});
${this.#process(operator, inlined, [value, timestamp])}`;
      }
      case 'sink': {
        const [element, result] = [this.constant(inlined.element), this.#variable()];
        return `
${element}.timestamp = ${timestamp};
${this.#step(operator, 'write')}
const ${result} = ${this.constant(inlined.writer)}.write(${value}, ${element});
if (${result} !== undefined) ${this.#check(operator, result, 'write')}`;
      }
      case 'source':
        return '';
    }
  }

  #process(
    operator: StreamOperator,
    { fn, element }: { readonly fn: unknown; readonly element: object },
    [value, timestamp]: readonly [string, string],
  ): string {
    const [context, result] = [this.constant(element), this.#variable()];
    return `
${context}.timestamp = ${timestamp};
${this.#step(operator, 'onElement')}
const ${result} = ${this.constant(fn)}.onElement(${value}, ${context});
if (${result} !== undefined) ${this.#check(operator, result, 'onElement')}`;
  }

  /** Results come from two places, so what follows is a function of its own. */
  #flatMap(
    { operator, next }: ChainedOperator,
    { fn, checkIterable }: Extract<InlinedOperator, { kind: 'flatMap' }>,
    [value, timestamp]: readonly [string, string],
  ): string {
    const [time, follow, emit] = [this.#variable(), this.#variable(), this.#variable()];
    const [results, result] = [this.#variable(), this.#variable()];
    const handle = this.targets(next, 'v', 't');
    const behind = this.failedBehind(operator.context);
    this.#hoisted.push(`
let ${time} = NaN;
const ${follow} = (v, t) => {
let s = 0;
try { ${handle} } catch (error) { throw fail(error, s); }
${this.activate(operator.context)}
};
const ${emit} = (v) => {
${this.refuseLate(operator.context)}
try { ${follow}(v, ${time}); } catch (error) { throw ${behind}(error); }
};`);
    return `
${time} = ${timestamp};
${this.#step(operator, 'flatMap')}
const ${results} = ${this.constant(fn)}.flatMap(${value}, ${emit});
if (${results} !== undefined) {
if (!Array.isArray(${results})) ${this.constant(checkIterable)}(${results});
for (const ${result} of ${results}) ${follow}(${result}, ${timestamp});
}`;
  }

  #output(output: Output, value: string, timestamp: string): string {
    const edge = output.inlined;
    if (edge === undefined)
      return `s = 0; ${this.constant(output)}.collect(${value}, ${timestamp});`;
    const { partition, byKey, select, counters, failure } = edge;
    const to = this.constant(partition);
    const count = `${this.constant(counters)}.recordsOut++;`;
    const step = `s = ${this.#failures.push(failure) - 1};`;
    const channel = this.#variable();
    if (byKey !== null) {
      const key = `${this.constant(byKey.keySelector)}(${value})`;
      return `
${count} ${step} const ${channel} = ${this.constant(byKey.channels)}.channelOf(${key});
s = 0; ${to}.emit(${channel}, ${value}, ${timestamp});`;
    }
    return `
${count} ${step} const ${channel} = ${this.constant(select)}(${value});
s = 0; if (${channel} < 0) ${to}.emitToAll(${value}, ${timestamp});
else ${to}.emit(${channel}, ${value}, ${timestamp});`;
  }

  /** Begins the call of a user's function. */
  #step(operator: StreamOperator, method: string): string {
    const step = this.#failures.push((error) => operator.failure(error, method)) - 1;
    return `s = ${step}; ${this.activate(operator.context)}`;
  }

  #check(operator: StreamOperator, result: string, method: string): string {
    return `${this.constant(operator)}.checkResult(${result}, '${method}');`;
  }

  #variable(): string {
    return `x${this.#variables++}`;
  }
}
