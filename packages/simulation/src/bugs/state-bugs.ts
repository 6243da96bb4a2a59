/** Mistakes in keyed state, operator state and timers. */
import { HeapKeyedStateBackend } from '@weir/core/internal/state/heap/heap-keyed-state-backend';
import { HeapListState, HeapMapState } from '@weir/core/internal/state/heap/keyed-states';
import { LazySnapshots } from '@weir/core/internal/state/lazy-snapshots';
import { HeapBroadcastState } from '@weir/core/internal/state/operator/broadcast-state';
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
  {
    name: 'timers of processing time not restored',
    plant: () =>
      substituteMethod(
        InternalTimers.prototype,
        'insert',
        (original) =>
          function (this: InternalTimers, parts) {
            if (parts[0] === 0) original.call(this, parts);
          },
      ),
  },
  {
    name: 'timer that was taken back stays',
    plant: () => substituteMethod(InternalTimers.prototype, 'delete', () => () => undefined),
  },
  {
    name: 'union state multiplied by a restore',
    plant: () =>
      substituteMethod(
        HeapOperatorListState.prototype,
        'ownItems',
        () =>
          function (this: HeapOperatorListState<unknown>) {
            return this.get();
          },
      ),
  },
  {
    name: 'last item of a list lost at restore',
    plant: () =>
      substituteMethod(
        HeapOperatorListState.prototype,
        'restore',
        (original) =>
          function (this: HeapOperatorListState<unknown>, items) {
            original.call(this, items.slice(0, -1));
          },
      ),
  },
  {
    name: 'broadcast state not restored',
    plant: () => substituteMethod(HeapBroadcastState.prototype, 'restore', () => () => undefined),
  },
  {
    name: 'entry that was removed stays in a map',
    plant: () => substituteMethod(HeapMapState.prototype, 'remove', () => () => undefined),
  },
  {
    name: 'list that was cleared keeps its first item',
    plant: () =>
      substituteMethod(
        HeapListState.prototype,
        'clear',
        (original) =>
          function (this: HeapListState<unknown>) {
            const [first] = this.get();
            original.call(this);
            if (first !== undefined) this.add(first);
          },
      ),
  },
  {
    name: 'last key group left out of the snapshot',
    plant: () =>
      substituteMethod(
        HeapKeyedStateBackend.prototype,
        'startSnapshot',
        (original) =>
          function (this: HeapKeyedStateBackend, output) {
            const cursor = original.call(this, output);
            const get = (): unknown => cursor.sections.slice(0, -1);
            const step = (entriesMax: number): boolean => cursor.step(entriesMax);
            const release = (): void => cursor.release();
            const { entryCount } = cursor;
            return Object.defineProperty({ entryCount, step, release }, 'sections', {
              get,
            }) as typeof cursor;
          },
      ),
  },
  {
    name: 'state restored that belongs to the key groups of another subtask',
    plant: () =>
      substituteMethod(
        HeapKeyedStateBackend.prototype,
        'slotsOf',
        (original) =>
          function (this: HeapKeyedStateBackend, stored) {
            const [first, last] = this.keyGroups;
            const moved = [first === 0 ? first : first - 1, first === 0 ? last : last - 1];
            Object.assign(this, { keyGroups: moved });
            return original.call(this, stored);
          },
      ),
  },
];
