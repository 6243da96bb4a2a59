/**
 * Content of a slot as an older version of the job stored it. It stands in the slot until the entry
 * is touched, by its key's next record or by a snapshot, and is then replaced by what the job's
 * types say now: so each value is migrated once, and what no record touches costs nothing until the
 * first snapshot.
 */
import type { StateKind } from '../../protocol/snapshot.ts';
import type { Evolve } from '../state-evolution.ts';

export class Unmigrated {
  readonly #content: unknown;
  readonly #kind: StateKind;
  readonly #evolve: Evolve;

  constructor(content: unknown, kind: StateKind, evolve: Evolve) {
    this.#content = content;
    this.#kind = kind;
    this.#evolve = evolve;
  }

  /** The content as it is now. Throws `StateMigrationError`; then it stays as it was. */
  migrate(where: string): unknown {
    const evolve = this.#evolve;
    switch (this.#kind) {
      case 'list':
        return (this.#content as readonly unknown[]).map((item) => evolve(item, where));
      case 'map': {
        const entries = this.#content as ReadonlyMap<unknown, unknown>;
        return new Map(Array.from(entries, ([key, value]) => [key, evolve(value, where)]));
      }
      case 'value':
      case 'reducing':
      case 'aggregating':
        return evolve(this.#content, where);
    }
  }
}
