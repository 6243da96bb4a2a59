/** Mistakes with savepoints: what they promise, whose they are, what a later run makes of them. */
import { Configuration } from '@weir/core/internal/base/configuration';
import { PendingCheckpoint } from '@weir/core/internal/protocol/checkpoint/pending-checkpoint';
import { HeapKeyedStateBackend } from '@weir/core/internal/state/heap/heap-keyed-state-backend';
import { SinkOperator } from '@weir/core/internal/taskmanager/operators/sink';
import type { PlantedBug } from './planted-bugs.ts';
import { substituteGetter, substituteMethod } from './substitute.ts';

export const savepointBugs: readonly PlantedBug[] = [
  {
    name: 'savepoint notified as a checkpoint',
    scenario: 'savepoint-during-failures',
    plant: () =>
      substituteGetter(PendingCheckpoint.prototype, 'stopsJob', function () {
        return (
          this.request.stop !== null || (this.kind === 'savepoint' && this.state === 'completed')
        );
      }),
  },
  {
    name: "files of the user's savepoint deleted with NO_CLAIM",
    scenario: 'stop-suspend',
    plant: () =>
      substituteMethod(Configuration.prototype, 'get', (original) => {
        function get(this: Configuration, key: string): unknown {
          if (key === 'execution.state-recovery.claim-mode') return 'CLAIM';
          return original.call(this, key as never);
        }
        return get as typeof original;
      }),
  },
  {
    name: 'key group owned twice after a rescale',
    scenario: 'stop-suspend',
    plant: () =>
      substituteMethod(
        HeapKeyedStateBackend.prototype,
        'slotsOf',
        (original) =>
          function (this: HeapKeyedStateBackend, stored) {
            const [first] = this.keyGroups;
            Object.assign(this, { keyGroups: [first, this.maxParallelism - 1] });
            return original.call(this, stored);
          },
      ),
  },
  {
    name: 'migration applied twice',
    scenario: 'stop-suspend',
    plant: () =>
      substituteMethod(
        HeapKeyedStateBackend.prototype,
        'slotsOf',
        (original) =>
          function (this: HeapKeyedStateBackend, stored) {
            return original.call(this, stored).map((slot) => {
              const evolve = slot?.evolve ?? null;
              if (slot === null || evolve === null) return slot;
              return { ...slot, evolve: (value, where) => evolve(evolve(value, where), where) };
            });
          },
      ),
  },
  {
    name: 'stop does not commit what its savepoint prepared',
    scenario: 'stop-drain',
    plant: () => {
      const stops = new Set<number>();
      const undoStops = substituteGetter(PendingCheckpoint.prototype, 'stopsJob', function () {
        if (this.request.stop !== null) stops.add(this.checkpointId);
        return this.request.stop !== null;
      });
      const undo = substituteMethod(
        SinkOperator.prototype,
        'notifyCheckpointComplete',
        (original) =>
          function (this: SinkOperator, checkpointId) {
            return stops.has(checkpointId) ? Promise.resolve() : original.call(this, checkpointId);
          },
      );
      return () => {
        undo();
        undoStops();
      };
    },
  },
];
