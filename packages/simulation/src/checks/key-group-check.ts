/**
 * The state of a key group is in one subtask only, the one whose range holds it: seen at the
 * acknowledgements of each checkpoint.
 */
import type { KeyedSnapshot, SubtaskSnapshot } from '@weir/core/internal/protocol/snapshot';
import type { World } from '../world/world.ts';

export class KeyGroupCheck {
  readonly #world: World;
  /** Of the newest checkpoint: by operator, which subtask has state of a key group. */
  readonly #owners = new Map<string, Map<number, number>>();
  #checkpointId = 0;

  constructor(world: World) {
    this.#world = world;
  }

  acknowledged(checkpointId: number, snapshot: SubtaskSnapshot): void {
    if (checkpointId !== this.#checkpointId) this.#owners.clear();
    this.#checkpointId = checkpointId;
    for (const { operatorId, name, keyed } of snapshot.operators) {
      if (keyed === null) continue;
      const owners = this.#owners.get(operatorId) ?? new Map<number, number>();
      this.#owners.set(operatorId, owners);
      for (const keyGroup of keyGroupsOf(keyed))
        this.#check(owners, { name, keyGroup, subtask: snapshot.subtask, range: keyed.keyGroups });
    }
  }

  #check(
    owners: Map<number, number>,
    found: {
      readonly name: string;
      readonly keyGroup: number;
      readonly subtask: number;
      readonly range: readonly [number, number];
    },
  ): void {
    const { name, keyGroup, subtask, range } = found;
    const [first, last] = range;
    this.#world.check(
      keyGroup >= first && keyGroup <= last,
      () =>
        `subtask ${subtask} of ${name} has state of key group ${keyGroup}, and is to have ` +
        `${first} to ${last}`,
    );
    const other = owners.get(keyGroup) ?? subtask;
    owners.set(keyGroup, subtask);
    this.#world.check(
      other === subtask,
      () => `key group ${keyGroup} of ${name} has state in subtasks ${other} and ${subtask}`,
    );
  }
}

function* keyGroupsOf({ blocks, timers }: KeyedSnapshot): Generator<number> {
  for (const { keyGroup } of blocks) yield keyGroup;
  for (const { keyGroup } of timers) yield keyGroup;
}
