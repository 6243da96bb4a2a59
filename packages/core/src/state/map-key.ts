/**
 * Keys as a JavaScript `Map` can tell them apart. Primitives stand for themselves; a tuple becomes
 * a string, since two equal arrays are two keys to a `Map`. Such strings begin with a mark, and so
 * does an ordinary string that happens to begin with it; `keyOfMapKey` gives the key back.
 */
import type { KeyValue } from '../api/functions.ts';
import { assert } from '../base/assert.ts';
import { UserFunctionError } from '../base/errors.ts';

/** U+0001, which begins hardly any real key. */
const MARK = '\u0001';
const MARK_CODE = 1;
const TUPLE = `${MARK}t`;
const STRING = `${MARK}s`;

/** What a `Map` takes as a key. */
export type MapKey = string | number | bigint | boolean | null | undefined;

export function mapKeyOf(key: unknown): MapKey {
  if (typeof key === 'string') return key.charCodeAt(0) === MARK_CODE ? STRING + key : key;
  if (typeof key === 'object' && key !== null) return TUPLE + tupleText(key);
  // The type of a function or symbol would be `never` had the compiler its way.
  if (typeof key === 'function' || typeof key === 'symbol') throw notAKey(`a ${typeof key}`);
  return key as MapKey;
}

export function keyOfMapKey(mapKey: MapKey): KeyValue {
  if (typeof mapKey !== 'string' || !isMarked(mapKey)) return mapKey as KeyValue;
  if (mapKey.startsWith(STRING)) return mapKey.slice(STRING.length);
  assert(mapKey.startsWith(TUPLE), 'a map key begins with the mark and is no tuple');
  return new TupleParser(mapKey.slice(TUPLE.length)).read();
}

/** A map with its keys as they are, to be stored: the map itself when no key differs. */
export function withTupleKeys(map: ReadonlyMap<MapKey, unknown>): ReadonlyMap<unknown, unknown> {
  for (const mapKey of map.keys())
    if (isMarked(mapKey))
      return new Map(Array.from(map, ([key, value]) => [keyOfMapKey(key), value]));
  return map;
}

/** The opposite of `withTupleKeys`. */
export function withMapKeys(map: ReadonlyMap<unknown, unknown>): Map<MapKey, unknown> {
  for (const key of map.keys())
    if (Array.isArray(key) || isMarked(key))
      return new Map(Array.from(map, ([each, value]) => [mapKeyOf(each), value]));
  return map as Map<MapKey, unknown>;
}

function isMarked(key: unknown): boolean {
  return typeof key === 'string' && key.charCodeAt(0) === MARK_CODE;
}

/** `["a",[1,true]]` gives `[s1:a[n1;t]]`: every element says where it ends. */
function tupleText(element: unknown): string {
  switch (typeof element) {
    case 'string':
      return `s${element.length}:${element}`;
    case 'number':
      return `n${element};`;
    case 'bigint':
      return `b${element};`;
    case 'boolean':
      return element ? 't' : 'f';
    default:
      if (Array.isArray(element)) return `[${element.map(tupleText).join('')}]`;
      throw notAKey(element === null ? 'null in a tuple' : `an element of type ${typeof element}`);
  }
}

function notAKey(what: string): UserFunctionError {
  return new UserFunctionError(
    `${what} cannot be a key of state; use a string, a number, a bigint, a boolean, or an array ` +
      'of these',
    { code: 'KEY_INVALID' },
  );
}

class TupleParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): KeyValue {
    switch (this.#text[this.#at++]) {
      case 's': {
        const length = Number(this.#upTo(':'));
        this.#at += length;
        return this.#text.slice(this.#at - length, this.#at);
      }
      case 'n':
        return Number(this.#upTo(';'));
      case 'b':
        return BigInt(this.#upTo(';'));
      case 't':
        return true;
      case 'f':
        return false;
      default: {
        const elements: KeyValue[] = [];
        while (this.#text[this.#at] !== ']') elements.push(this.read());
        this.#at++;
        return elements;
      }
    }
  }

  #upTo(end: string): string {
    const start = this.#at;
    const found = this.#text.indexOf(end, start);
    assert(found >= 0, 'a tuple key ends too early');
    this.#at = found + 1;
    return this.#text.slice(start, found);
  }
}
