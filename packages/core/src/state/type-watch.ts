/**
 * Sees that a state which was restored into other code than that which stored it is not given
 * values of another kind, where neither a version nor a schema says that its type has changed.
 * Learns the kinds of some values as they are restored, looks at the first that are written, and is
 * then taken away: later records pay for one comparison with null. What may be a union of types is
 * not refused once both kinds were restored, or one is that of the default.
 */
import { StateMigrationError } from '../base/errors.ts';
import { FIELDS_MAX, kindOf } from './value-shape.ts';

const VALUES_LEARNT_MAX = 1000;
const VALUES_CHECKED = 1000;
const DEPTH_MAX = 2;

export interface WatchedState {
  readonly operator: string;
  readonly name: string;
  /** Under which the values are stored. */
  readonly version: number;
}

export class TypeWatch {
  readonly #state: WatchedState;
  readonly #seen = new SeenKinds();
  #learnt = 0;
  #left = VALUES_CHECKED;

  constructor(state: WatchedState) {
    this.#state = state;
  }

  /** A value that was restored. */
  learn(value: unknown): void {
    if (this.#learnt >= VALUES_LEARNT_MAX) return;
    this.#learnt++;
    this.#seen.add(value, DEPTH_MAX);
  }

  /** A value that may be written beside the restored ones. */
  allow(value: unknown): void {
    this.#seen.add(value, DEPTH_MAX);
  }

  /**
   * Looks at a value before it is written. Gives the watch for the next one, `null` once all is
   * seen. Throws `StateMigrationError`.
   */
  checked(value: unknown): TypeWatch | null {
    if (this.#learnt === 0 || this.#left-- <= 0) return null;
    const stranger = this.#seen.strangerIn(value, '', DEPTH_MAX);
    if (stranger === null) return this;
    const { operator, name, version } = this.#state;
    const { path, stored, written } = stranger;
    const are = path === '' ? 'its values are' : `field "${path}" of its values is`;
    const verb = path === '' ? 'are' : 'is';
    throw new StateMigrationError(
      `state "${name}" of ${operator}: ${are} ${stored} in the snapshot, and ${verb} now written ` +
        `as ${written}, without a new version of its type: give the state version: ` +
        `${version + 1} and migrate: { ${version}: (stored) => … }; if its type holds both, give ` +
        'it a schema that says so',
      { details: { operator, state: name, path, stored, written, version } },
    );
  }
}

interface Stranger {
  readonly path: string;
  readonly stored: string;
  readonly written: string;
}

/** Kinds of values that were met in one place. */
class SeenKinds {
  readonly #kinds = new Set<string>();
  readonly #fields = new Map<string, SeenKinds>();

  add(value: unknown, depth: number): void {
    if (value === undefined || value === null) return;
    const kind = kindOf(value);
    this.#kinds.add(kind ?? 'object');
    if (kind !== null || depth === 0) return;
    const names = Object.keys(value);
    if (names.length > FIELDS_MAX) return;
    for (const name of names) {
      let field = this.#fields.get(name);
      if (field === undefined) this.#fields.set(name, (field = new SeenKinds()));
      field.add((value as Readonly<Record<string, unknown>>)[name], depth - 1);
    }
  }

  strangerIn(value: unknown, path: string, depth: number): Stranger | null {
    if (this.#kinds.size === 0 || value === undefined || value === null) return null;
    const kind = kindOf(value);
    if (!this.#kinds.has(kind ?? 'object'))
      return { path, stored: [...this.#kinds].join(' or '), written: kind ?? 'object' };
    if (kind !== null || depth === 0) return null;
    const names = Object.keys(value);
    if (names.length > FIELDS_MAX) return null;
    for (const name of names) {
      const seen = this.#fields.get(name);
      const field = (value as Readonly<Record<string, unknown>>)[name];
      const place = path === '' ? name : `${path}.${name}`;
      const stranger = seen?.strangerIn(field, place, depth - 1) ?? null;
      if (stranger !== null) return stranger;
    }
    return null;
  }
}
