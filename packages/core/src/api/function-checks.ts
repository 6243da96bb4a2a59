/**
 * Checks what the user hands to an operator while the graph is built, so that a missing method or a
 * promise shows at the call that caused it and not at the first record.
 */
import { GraphValidationError } from '../base/errors.ts';
import type { StateDescriptor } from './state.ts';

/** An operator call: what was called, and where. */
export interface CallSite {
  readonly operator: string;
  /** `orders.ts:14`. */
  readonly location: string | null;
}

/** Methods that handle records or timers: these run synchronously. */
const SYNCHRONOUS = [
  'map',
  'filter',
  'flatMap',
  'onElement',
  'onElement1',
  'onElement2',
  'onBroadcastElement',
  'onTimer',
  'onEndOfInput',
  'createAccumulator',
  'add',
  'getResult',
];
const LIFECYCLE = ['open', 'close'];

/** An error that names the operator call. */
export function graphError(at: CallSite, message: string): GraphValidationError {
  const where = at.location === null ? '' : ` at ${at.location}`;
  return new GraphValidationError(`${at.operator}${where}: ${message}`, {
    details: { operator: at.operator, location: at.location },
  });
}

/**
 * A function object from what the user gave: a plain function becomes the object's `method`.
 * `F` is what the operator takes; the types of the public method vouch for it.
 */
export function functionObject<F>(at: CallSite, given: unknown, method: string): F {
  const expected = `a function, or an object with a method ${method}`;
  if (typeof given !== 'function') {
    requireMethods(at, given, [method], expected);
    return given as F;
  }
  refuseClass(at, given);
  refuseDelay(at, given, 'the function', method === 'flatMap');
  return { [method]: given } as F;
}

/** A plain function. */
export function requireFunction(at: CallSite, given: unknown, what: string): void {
  if (typeof given !== 'function') throw graphError(at, `expected ${what}, got ${describe(given)}`);
  refuseClass(at, given);
  refuseDelay(at, given, what);
}

/** An object with the methods an operator cannot do without. */
export function requireMethods(
  at: CallSite,
  given: unknown,
  methods: readonly string[],
  expected: string = `an object with ${methods.map((name) => `a method ${name}`).join(' and ')}`,
): void {
  if (typeof given === 'function') refuseClass(at, given);
  if (typeof given !== 'object' || given === null)
    throw graphError(at, `expected ${expected}, got ${describe(given)}`);
  const object = given as Record<string, unknown>;
  for (const name of methods)
    if (typeof object[name] !== 'function')
      throw graphError(at, `expected ${expected}; ${name} is ${describe(object[name])}`);
  for (const name of [...SYNCHRONOUS, ...LIFECYCLE]) {
    const method = object[name];
    if (method === undefined) continue;
    if (typeof method !== 'function')
      throw graphError(at, `${name} must be a method, but is ${describe(method)}`);
    if (SYNCHRONOUS.includes(name)) refuseDelay(at, method, name, name === 'flatMap');
  }
}

/** The states of a process function must be descriptors of kinds that the stream can keep. */
export function checkState(at: CallSite, fn: object, keyed: boolean): void {
  const declared = (fn as { readonly state?: unknown }).state;
  if (declared === undefined) return;
  if (typeof declared !== 'object' || declared === null)
    throw graphError(at, `state must be an object of states by name, but is ${describe(declared)}`);
  for (const [name, state] of Object.entries(declared)) checkOneState(at, name, state, keyed);
}

/** The states of `broadcast` must all be broadcast states. */
export function checkBroadcastState(at: CallSite, declared: unknown): void {
  if (typeof declared !== 'object' || declared === null || Object.keys(declared).length === 0)
    throw graphError(at, 'expected broadcast states by name, as in { rules: broadcastState() }');
  for (const [name, state] of Object.entries(declared))
    if (kindOf(state) !== 'broadcast')
      throw graphError(at, `state ${name} must be made by broadcastState()`);
}

function checkOneState(at: CallSite, name: string, state: unknown, keyed: boolean): void {
  const kind = kindOf(state);
  switch (kind) {
    case 'operatorList':
      return;
    case 'broadcast':
      throw graphError(
        at,
        `broadcast state ${name} is declared with stream.broadcast({ ${name} })`,
      );
    case 'value':
    case 'list':
    case 'map':
    case 'reducing':
    case 'aggregating':
      refuseDelayIn(at, name, state as StateDescriptor);
      if (keyed) return;
      throw graphError(at, `state ${name} belongs to a key: call keyBy before ${at.operator}`);
    case null:
      throw graphError(
        at,
        `state ${name} must be made by a function such as valueState(), but is ${describe(state)}`,
      );
  }
}

/** Of the functions that a state is declared with. */
function refuseDelayIn(at: CallSite, name: string, state: StateDescriptor): void {
  const holder = state.kind === 'aggregating' ? state.aggregate : state;
  for (const method of ['default', 'reduce', 'createAccumulator', 'add', 'getResult']) {
    const given = (holder as unknown as Record<string, unknown>)[method];
    if (typeof given === 'function') refuseDelay(at, given, `${method} of state ${name}`);
  }
}

function kindOf(state: unknown): StateDescriptor['kind'] | null {
  const kinds = ['value', 'list', 'map', 'reducing', 'aggregating', 'operatorList', 'broadcast'];
  if (typeof state !== 'object' || state === null || !('kind' in state)) return null;
  return kinds.includes(state.kind as string) ? (state.kind as StateDescriptor['kind']) : null;
}

function refuseClass(at: CallSite, given: Function): void {
  if (/^class\b/.test(Function.prototype.toString.call(given)))
    throw graphError(at, `got the class ${given.name}: give an instance, new ${given.name}(…)`);
}

/** Such a function returns before it has done its work, or any of it. */
function refuseDelay(at: CallSite, given: Function, what: string, mayYield = false): void {
  const kind = given.constructor?.name ?? '';
  if (kind.startsWith('Async'))
    throw graphError(
      at,
      `${what} must not be async: records are handled synchronously; only open and close may wait`,
    );
  if (kind === 'GeneratorFunction' && !mayYield)
    throw graphError(
      at,
      `${what} must not be a generator: to call it runs nothing of its body; only flatMap may ` +
        'return something to go through',
    );
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return `the text "${value}"`;
  if (typeof value === 'object') return Array.isArray(value) ? 'an array' : 'an object';
  return typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`;
}
