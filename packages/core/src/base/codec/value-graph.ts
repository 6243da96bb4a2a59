/**
 * Any value that structured clone keeps, as a flat list of nodes that plain MessagePack holds: one
 * node per object, so cycles and objects met twice stay what they are, and depth costs no stack.
 * Within a node a *slot* is a simple primitive itself, or an array: `[i]` points to node i, `[-1]`
 * is −0, `[-2]` a hole, `[-3, bytes]` a string with lone surrogates. The first node is the root.
 *
 * Instances of classes become plain objects. A view of a buffer keeps its own bytes only, and two
 * views of one buffer come back apart. Slower than the direct form; used for what needs it.
 */
import { Buffer } from 'node:buffer';
import { SerializationError, isWeirError, messageOf } from '../errors.ts';
import { isDetached } from './value-scan.ts';

export type GraphNode = readonly unknown[];

const MINUS_ZERO = -1;
const HOLE = -2;
const ILL_FORMED_STRING = -3;

/** First element of a node. Numbers are part of the format. */
const OBJECT = 0;
const ARRAY = 1;
const SPARSE_ARRAY = 2;
const MAP = 3;
const SET = 4;
const DATE = 5;
const REG_EXP = 6;
const ERROR = 7;
const BOXED = 8;
const ARRAY_BUFFER = 9;
const VIEW = 10;

type ViewConstructor = new (buffer: ArrayBuffer) => ArrayBufferView;

const VIEWS: Readonly<Record<string, ViewConstructor>> = {
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
  // Known from Node 24 on.
  ...('Float16Array' in globalThis
    ? { Float16Array: (globalThis as { Float16Array?: ViewConstructor }).Float16Array! }
    : {}),
};

/** Hold nothing that could be read; without the check, fields given to them would be kept alone. */
const WITHOUT_CONTENT: readonly unknown[] = ['Promise', 'WeakMap', 'WeakSet'];

const ERRORS: Readonly<Record<string, new (message?: string) => Error>> = {
  Error,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
};

export function toGraph(root: unknown): readonly GraphNode[] {
  return new GraphWriter().write(root);
}

/** Throws whatever comes of it when the nodes are not what `toGraph` gave. */
export function fromGraph(nodes: readonly GraphNode[]): unknown {
  const objects = nodes.map(createShell);
  for (const [index, node] of nodes.entries()) fillShell(objects[index], node, objects);
  const first = nodes[0]!;
  return first[0] === BOXED && first[2] === true ? readSlot(first[1], objects) : objects[0];
}

interface Tagged {
  readonly [Symbol.toStringTag]?: unknown;
}

/** Where an object was met first, so that an error can say so. */
interface Origin {
  readonly parent: number;
  readonly step: string;
}

class GraphWriter {
  readonly #ids = new Map<object, number>();
  readonly #objects: object[] = [];
  readonly #origins: Origin[] = [];
  #current = -1;

  write(root: unknown): readonly GraphNode[] {
    // A root that is no object gets a node of its own, marked as such.
    if (typeof root !== 'object' || root === null) return [[BOXED, this.#slot(root, ''), true]];
    this.#idOf(root, '');
    const nodes: GraphNode[] = [];
    for (let id = 0; id < this.#objects.length; id++) {
      this.#current = id;
      nodes.push(this.#readNode(this.#objects[id]!));
    }
    return nodes;
  }

  /** Code of the user may run within: a getter, a proxy; and not all is what it claims to be. */
  #readNode(value: object): GraphNode {
    try {
      return this.#node(value);
    } catch (error) {
      if (isWeirError(error)) throw error;
      throw this.#refused(`an object that cannot be read ("${messageOf(error)}")`, '');
    }
  }

  #idOf(value: object, step: string): number {
    const known = this.#ids.get(value);
    if (known !== undefined) return known;
    const id = this.#objects.push(value) - 1;
    this.#ids.set(value, id);
    this.#origins.push({ parent: this.#current, step });
    return id;
  }

  #slot(value: unknown, step: string): unknown {
    switch (typeof value) {
      case 'string':
        if (value.isWellFormed()) return value;
        return [ILL_FORMED_STRING, new Uint8Array(Buffer.from(value, 'utf16le'))];
      case 'number':
        return Object.is(value, -0) ? [MINUS_ZERO] : value;
      case 'object':
        return value === null ? null : [this.#idOf(value, step)];
      case 'function':
      case 'symbol':
        throw this.#refused(`a ${typeof value}`, step);
      default:
        return value;
    }
  }

  #node(value: object): GraphNode {
    if (Array.isArray(value)) return this.#arrayNode(value);
    if (value instanceof Map) return this.#mapNode(value);
    if (value instanceof Set) return [SET, Array.from(value, (each) => this.#slot(each, '{…}'))];
    if (value instanceof ArrayBuffer) return this.#bufferNode(value);
    switch (classOf(value)) {
      case 'Date':
        return [DATE, (value as Date).getTime()];
      case 'RegExp':
        return [REG_EXP, (value as RegExp).source, (value as RegExp).flags];
      case 'Error':
        return this.#errorNode(value as Error);
      case 'Number':
      case 'String':
      case 'Boolean':
      case 'BigInt':
        return [BOXED, this.#slot(value.valueOf(), '.valueOf()'), false];
    }
    if (ArrayBuffer.isView(value)) return this.#viewNode(value);
    return this.#objectNode(value);
  }

  #objectNode(value: object): GraphNode {
    const keys = Object.keys(value);
    // Built-in objects such as promises keep their content out of reach: nothing would be stored.
    const tag = (value as Tagged)[Symbol.toStringTag];
    const isEmpty = keys.length === 0 && Symbol.toStringTag in value;
    if (isEmpty || WITHOUT_CONTENT.includes(tag)) throw this.#refused(`a ${String(tag)}`, '');
    const keySlots = keys.map((key) => this.#slot(key, ''));
    const slots = keys.map((key) => this.#fieldSlot(value, key));
    return [OBJECT, keySlots, slots];
  }

  #fieldSlot(object: object, key: string): unknown {
    let field: unknown;
    try {
      field = (object as Record<string, unknown>)[key];
    } catch (error) {
      throw this.#refused(`a field that throws ("${messageOf(error)}")`, fieldStep(key));
    }
    return this.#slot(field, fieldStep(key));
  }

  #arrayNode(array: readonly unknown[]): GraphNode {
    const keys = Object.keys(array);
    const lastIndex = keys.findLast((key) => isIndex(key));
    const indexCount = lastIndex === undefined ? 0 : keys.lastIndexOf(lastIndex) + 1;
    if (indexCount < keys.length || indexCount * 2 < array.length) {
      const keySlots = keys.map((key) => this.#slot(key, ''));
      const slots = keys.map((key) => this.#fieldSlot(array, key));
      return [SPARSE_ARRAY, array.length, keySlots, slots];
    }
    const slots: unknown[] = [];
    for (let i = 0; i < array.length; i++)
      slots.push(i in array ? this.#slot(array[i], `[${i}]`) : [HOLE]);
    return [ARRAY, slots];
  }

  #mapNode(map: ReadonlyMap<unknown, unknown>): GraphNode {
    const slots: unknown[] = [];
    for (const [key, value] of map) {
      const step = `get(${typeof key === 'string' || typeof key === 'number' ? key : '…'})`;
      slots.push(this.#slot(key, '.keys()'), this.#slot(value, `.${step}`));
    }
    return [MAP, slots];
  }

  #errorNode(error: Error): GraphNode {
    const hasCause = Object.hasOwn(error, 'cause');
    return [
      ERROR,
      Object.hasOwn(ERRORS, error.name) ? error.name : 'Error',
      this.#slot(String(error.message), '.message'),
      this.#slot(typeof error.stack === 'string' ? error.stack : undefined, '.stack'),
      hasCause ? this.#slot(error.cause, '.cause') : [HOLE],
    ];
  }

  #bufferNode(buffer: ArrayBuffer): GraphNode {
    if (isDetached(buffer)) throw this.#refused('an ArrayBuffer that was transferred away', '');
    const bytes = new Uint8Array(buffer.slice(0));
    return [ARRAY_BUFFER, bytes, buffer.resizable ? buffer.maxByteLength : null];
  }

  #viewNode(view: ArrayBufferView): GraphNode {
    const name = Object.keys(VIEWS).find((each) => view instanceof VIEWS[each]!);
    if (name === undefined) throw this.#refused(`a ${view.constructor.name}`, '');
    if (isDetached(view.buffer))
      throw this.#refused('a view of an ArrayBuffer that was transferred away', '');
    return [VIEW, name, new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice()];
  }

  #refused(what: string, step: string): SerializationError {
    const place = this.#path() + step;
    return new SerializationError(
      `cannot store ${what}${place === '' ? '' : ` (at ${place.replace(/^\./, '')})`}: only data ` +
        'can be kept; leave the field out, or store what is needed to make it again',
      { details: { place } },
    );
  }

  #path(): string {
    const steps: string[] = [];
    for (let id = this.#current; id >= 0; id = this.#origins[id]!.parent)
      steps.push(this.#origins[id]!.step);
    return steps.reverse().join('');
  }
}

/**
 * Asked of the value where its class does not say: one of another realm, such as that of a file of
 * tests, is an instance of no class here. Those with a tag can say anything.
 */
function classOf(value: object): string {
  if (value instanceof Date) return 'Date';
  if (value instanceof Error) return 'Error';
  if (value instanceof BigInt) return 'BigInt';
  if (Symbol.toStringTag in value) return 'Object';
  return Object.prototype.toString.call(value).slice(8, -1);
}

function createShell(node: GraphNode): unknown {
  switch (node[0]) {
    case OBJECT:
      return {};
    case ARRAY:
    case SPARSE_ARRAY:
      return [];
    case MAP:
      return new Map();
    case SET:
      return new Set();
    case DATE:
      return new Date(node[1] as number);
    case REG_EXP:
      return new RegExp(node[1] as string, node[2] as string);
    case ERROR:
      return new ERRORS[node[1] as string]!();
    case BOXED:
      return Object(readSlot(node[1], []));
    case ARRAY_BUFFER:
      return readBuffer(node[1] as Uint8Array, node[2] as number | null);
    case VIEW:
      return new VIEWS[node[1] as string]!((node[2] as Uint8Array).slice().buffer);
    default:
      throw new SerializationError(`cannot read a value: unknown kind of node ${String(node[0])}`);
  }
}

function fillShell(shell: unknown, node: GraphNode, objects: readonly unknown[]): void {
  if (node[0] === OBJECT) {
    defineFields(shell as object, node[1] as unknown[], node[2] as unknown[], objects);
  } else if (node[0] === ARRAY) {
    const array = shell as unknown[];
    for (const [index, slot] of (node[1] as unknown[]).entries())
      if (isHole(slot)) array.length = index + 1;
      else array[index] = readSlot(slot, objects);
  } else if (node[0] === SPARSE_ARRAY) {
    (shell as unknown[]).length = node[1] as number;
    defineFields(shell as object, node[2] as unknown[], node[3] as unknown[], objects);
  } else if (node[0] === MAP) {
    const slots = node[1] as unknown[];
    for (let i = 0; i < slots.length; i += 2)
      (shell as Map<unknown, unknown>).set(
        readSlot(slots[i], objects),
        readSlot(slots[i + 1], objects),
      );
  } else if (node[0] === SET) {
    for (const slot of node[1] as unknown[]) (shell as Set<unknown>).add(readSlot(slot, objects));
  } else if (node[0] === ERROR) {
    const fields = { message: node[2], stack: node[3], cause: node[4] };
    for (const [key, slot] of Object.entries(fields))
      if (!isHole(slot)) defineHidden(shell as object, key, readSlot(slot, objects));
  }
}

function readSlot(slot: unknown, objects: readonly unknown[]): unknown {
  if (!Array.isArray(slot)) return slot;
  const [id, bytes] = slot as [number, Uint8Array];
  if (id === MINUS_ZERO) return -0;
  if (id === ILL_FORMED_STRING)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf16le');
  if (!(id in objects)) throw new SerializationError(`cannot read a value: no node ${id}`);
  return objects[id];
}

function isHole(slot: unknown): boolean {
  return Array.isArray(slot) && slot[0] === HOLE;
}

function readBuffer(bytes: Uint8Array, maxByteLength: number | null): ArrayBuffer {
  if (maxByteLength === null) return bytes.slice().buffer;
  const buffer = new ArrayBuffer(bytes.length, { maxByteLength });
  new Uint8Array(buffer).set(bytes);
  return buffer;
}

function defineFields(
  target: object,
  keys: readonly unknown[],
  slots: readonly unknown[],
  objects: readonly unknown[],
): void {
  for (const [index, keySlot] of keys.entries()) {
    const value = readSlot(slots[index], objects);
    // Not an assignment: that would call the setter of `__proto__`.
    Object.defineProperty(target, readSlot(keySlot, objects) as string, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
}

function defineHidden(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, configurable: true });
}

function fieldStep(key: string): string {
  if (isIndex(key)) return `[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function isIndex(key: string): boolean {
  return /^(?:0|[1-9]\d*)$/.test(key) && Number(key) < 2 ** 32 - 1;
}
