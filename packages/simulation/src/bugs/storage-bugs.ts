/** Mistakes in what is durable when, what is deleted, and who leads. */
import { DirectoryLog } from '@weir/core/internal/storage/directory-log';
import { FileCheckpointStorage } from '@weir/core/internal/storage/file-checkpoint-storage';
import { JobLog } from '@weir/core/internal/storage/job-store';
import { SimulatedFileSystem } from '../world/simulated-file-system.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { substituteMethod } from './substitute.ts';

export const storageBugs: readonly PlantedBug[] = [
  {
    name: 'acknowledgement before the data is synced',
    plant: () =>
      substituteMethod(
        SimulatedFileSystem.prototype,
        'create',
        (original) =>
          async function (this: SimulatedFileSystem, path, options) {
            const writer = await original.call(this, path, options);
            if (!path.endsWith('.data')) return writer;
            return { ...writer, sync: () => Promise.resolve() };
          },
      ),
  },
  {
    name: 'completion told before it is durable',
    plant: () =>
      substituteMethod(
        FileCheckpointStorage.prototype,
        'publish',
        (original) =>
          function (this: FileCheckpointStorage, location, metadata) {
            original.call(this, location, metadata).catch(() => undefined);
            return Promise.resolve();
          },
      ),
  },
  {
    name: 'clean-up of checkpoints that are still needed',
    plant: () =>
      substituteMethod(
        FileCheckpointStorage.prototype,
        'cleanUp',
        (original) =>
          function (this: FileCheckpointStorage, options) {
            return original.call(this, { ...options, keep: [] });
          },
      ),
  },
  {
    name: 'folder not synced',
    plant: () =>
      substituteMethod(
        SimulatedFileSystem.prototype,
        'syncDirectory',
        () => () => Promise.resolve(),
      ),
  },
  {
    name: 'checkpoint ids used again',
    plant: () =>
      substituteMethod(
        JobLog.prototype,
        'update',
        (original) =>
          function (this: JobLog, change) {
            return original.call(this, (record) => {
              const changed = change(record);
              return { ...changed, nextCheckpointId: record.nextCheckpointId };
            });
          },
      ),
  },
  {
    name: 'end of the run not recorded',
    plant: () =>
      substituteMethod(
        JobLog.prototype,
        'update',
        (original) =>
          function (this: JobLog, change) {
            return original.call(this, (record) => ({ ...change(record), ended: null }));
          },
      ),
  },
  {
    name: 'outdated leader not fenced',
    plant: () =>
      substituteMethod(
        DirectoryLog.prototype,
        'append',
        (original) =>
          async function (this: DirectoryLog, sequence, record, options) {
            await original.call(this, sequence, record, options);
            return 'appended';
          },
      ),
  },
  {
    name: 'metadata published before the data is durable',
    plant: () => {
      const waiting: (() => Promise<void>)[] = [];
      const undoCreate = substituteMethod(
        SimulatedFileSystem.prototype,
        'create',
        (original) =>
          async function (this: SimulatedFileSystem, path, options) {
            const writer = await original.call(this, path, options);
            if (!path.endsWith('.data')) return writer;
            const sync = (): Promise<void> => {
              waiting.push(() => writer.sync());
              return Promise.resolve();
            };
            return { ...writer, sync };
          },
      );
      const undoRename = substituteMethod(
        SimulatedFileSystem.prototype,
        'rename',
        (original) =>
          async function (this: SimulatedFileSystem, from, to) {
            await original.call(this, from, to);
            for (const sync of waiting.splice(0)) sync().catch(() => undefined);
          },
      );
      return () => {
        undoCreate();
        undoRename();
      };
    },
  },
  {
    name: 'metadata not synced',
    plant: () => withoutSync((path) => path.endsWith('.metadata.inprogress')),
  },
  {
    name: 'record of the job not synced',
    plant: () => withoutSync((path) => path.includes('/.append-')),
  },
  {
    name: 'files of checkpoints that are not needed any more stay',
    plant: () =>
      substituteMethod(
        FileCheckpointStorage.prototype,
        'discard',
        () => () => Promise.resolve({ foreign: [] }),
      ),
  },
];

function withoutSync(isMeant: (path: string) => boolean): () => void {
  return substituteMethod(
    SimulatedFileSystem.prototype,
    'create',
    (original) =>
      async function (this: SimulatedFileSystem, path, options) {
        const writer = await original.call(this, path, options);
        return isMeant(path) ? { ...writer, sync: () => Promise.resolve() } : writer;
      },
  );
}
