/** Mistakes in keyed state, operator state and timers. */
import { HeapKeyedStateBackend } from '@weir/core/internal/state/heap/heap-keyed-state-backend';
import { LazySnapshots } from '@weir/core/internal/state/lazy-snapshots';
import { HeapOperatorListState } from '@weir/core/internal/state/operator/operator-list-state';
import { InternalTimers } from '@weir/core/internal/state/timers/internal-timers';
import type { PlantedBug } from './planted-bugs.ts';
import { substituteMethod } from './substitute.ts';

export const stateBugs: readonly PlantedBug[] = [
  {
    name: 'timers not restored',
    plant: () => substituteMethod(InternalTimers.prototype, 'insert', () => () => undefined),
  },
  {
    name: 'state of one key group lost at restore',
    plant: () =>
      substituteMethod(
        HeapKeyedStateBackend.prototype,
        'insert',
        (original) =>
          function (this: HeapKeyedStateBackend, parts, keyGroup, slots) {
            return keyGroup % 4 === 1 || original.call(this, parts, keyGroup, slots);
          },
      ),
  },
  {
    name: 'keyed state restored under another key',
    plant: () =>
      substituteMethod(
        HeapKeyedStateBackend.prototype,
        'insert',
        (original) =>
          function (this: HeapKeyedStateBackend, parts, keyGroup, slots) {
            const [key, ...rest] = parts;
            const wrong = typeof key === 'number' ? key + 1000 : key;
            return original.call(this, [wrong, ...rest], keyGroup, slots);
          },
      ),
  },
  {
    name: 'changes leak into a snapshot being written',
    plant: () => substituteMethod(LazySnapshots.prototype, 'isWanted', () => () => false),
  },
  {
    name: 'operator state restored twice',
    plant: () =>
      substituteMethod(
        HeapOperatorListState.prototype,
        'restore',
        (original) =>
          function (this: HeapOperatorListState<unknown>, items) {
            original.call(this, [...items, ...items]);
          },
      ),
  },
];
