/**
 * Goal: after any history, what is on disk is exactly what the retained checkpoints refer to, and
 * nothing that was recorded is lost. Method: random lives of a coordinator on one disk, each cut
 * off by a power failure at a random file operation, of which a random part of the unsynced
 * survives. After each, a new leader claims, cleans up, and everything is compared with a plain
 * model.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ManualClock } from '../base/clock.ts';
import { type Random, seededRandom } from '../base/random.ts';
import { CompletedCheckpointStore } from '../protocol/checkpoint/completed-checkpoint-store.ts';
import type { StateHandle } from '../protocol/snapshot.ts';
import { FaultyFileSystem } from './faulty-file-system.ts';
import { FileCheckpointStorage } from './file-checkpoint-storage.ts';
import { type JobLog, type JobRecord, JobStore } from './job-store.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import { handlePath, sharedFileName } from './snapshot-layout.ts';
import { snapshotData } from './stored-snapshot.ts';
import { filesBelow, JOB_ID, metadataOf, writeData, writeShared } from './test-support.ts';
import { verifySnapshotDeep } from './verify-snapshot.ts';

/** What a coordinator does with the next checkpoint. */
type Step = 'complete' | 'abort' | 'leave pending' | 'share';

/** What must hold whatever happens: told by answers that the coordinator got. */
interface Model {
  lastRecorded: number;
  lastDrawn: number;
}

const FIRST: Omit<JobRecord, 'epoch'> = {
  jobId: JOB_ID,
  jobName: 'totals',
  arguments: [],
  nextCheckpointId: 1,
  firstCheckpointId: 1,
  leaderFirstCheckpointId: 1,
  completed: [],
  owner: null,
  ended: null,
  restoredFrom: null,
};

const life = fc.record({
  steps: fc.array(fc.constantFrom<Step>('complete', 'abort', 'leave pending', 'share'), {
    minLength: 1,
    maxLength: 6,
  }),
  /** File operations until the power fails. */
  operations: fc.integer({ min: 0, max: 400 }),
});

test('the disk holds exactly what retained checkpoints need [R103] [R106]', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(life, { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer(),
      async (lives, numRetained, seed) => {
        const memory = new MemoryFileSystem();
        const random = seededRandom(seed);
        const model: Model = { lastRecorded: 0, lastDrawn: 0 };
        for (const { steps, operations } of lives) {
          const coordinator = new Coordinator(memory, random, { numRetained, operations, model });
          await coordinator.live(steps);
          memory.crash(random.int(2) === 0 ? undefined : random);
          const successor = new Coordinator(memory, random, {
            numRetained,
            operations: Infinity,
            model,
          });
          await successor.live([]);
          await assertExact(
            memory,
            await successor.log.read().then((entry) => entry!.record),
            model,
          );
        }
      },
    ),
    { numRuns: 60 },
  );
});

class Coordinator {
  readonly log: JobLog;
  readonly #disk: FaultyFileSystem;
  readonly #io: { readonly clock: ManualClock; readonly fileSystem: FaultyFileSystem };
  readonly #storage: FileCheckpointStorage;
  readonly #numRetained: number;
  readonly #model: Model;
  #known: CompletedCheckpointStore;
  /** A file of `shared` that each later checkpoint refers to as well. */
  #shared: StateHandle | null = null;

  constructor(
    memory: MemoryFileSystem,
    random: Random,
    options: { readonly numRetained: number; readonly operations: number; readonly model: Model },
  ) {
    const clock = new ManualClock();
    this.#disk = new FaultyFileSystem(clock, memory);
    this.#disk.stopAfter(options.operations);
    this.#io = { clock, fileSystem: this.#disk };
    this.#storage = new FileCheckpointStorage(this.#io, { directory: '/data/cp', jobId: JOB_ID });
    this.#numRetained = options.numRetained;
    this.#model = options.model;
    this.#known = new CompletedCheckpointStore(options.numRetained, []);
    this.log = new JobStore({ ...this.#io, random }, '/data').open(JOB_ID);
  }

  /** Returns when the steps are done, or when the power has failed. */
  async live(steps: readonly Step[]): Promise<void> {
    let isDone = false;
    const living = this.#run(steps).finally(() => {
      isDone = true;
    });
    living.catch(() => undefined);
    while (!isDone && !this.#disk.isStopped)
      for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    if (isDone) await living;
  }

  async #run(steps: readonly Step[]): Promise<void> {
    const seen = await this.log.read();
    const record = await this.log.claim(seen, seen?.record ?? FIRST);
    assert.notEqual(record, 'taken');
    const { completed, nextCheckpointId } = record as JobRecord;
    this.#known = new CompletedCheckpointStore(this.#numRetained, completed);
    const keep = completed.map(({ checkpointId }) => checkpointId);
    const report = await this.#storage.cleanUp({ keep, below: nextCheckpointId });
    assert.deepEqual(report.damaged, []);
    assert.deepEqual(report.failed, []);
    for (const step of steps) await this.#take(step);
  }

  async #take(step: Step): Promise<void> {
    const id = this.log.record.nextCheckpointId;
    await this.log.update((record) => ({ ...record, nextCheckpointId: id + 1 }));
    this.#model.lastDrawn = id;
    const location = await this.#storage.prepareCheckpoint(id);
    const data = [await writeData(this.#io, location, 0)];
    if (step === 'leave pending') return;
    if (step === 'abort') return void (await this.#storage.discard(location));
    if (step === 'share') {
      const path = `${this.#storage.jobDirectory}/shared/${sharedFileName(id, 'sst')}`;
      this.#shared = await writeShared(this.#disk, path, `shared of ${id}`);
    }
    if (this.#shared !== null) data.push(this.#shared);
    await this.#storage.publish(location, metadataOf(id, data));
    const subsumed = this.#known.add({
      checkpointId: id,
      kind: 'checkpoint',
      stopsJob: false,
      directory: location,
      triggeredAt: 0,
      sizeBytes: 0,
      isOwned: true,
    });
    await this.log.update((record) => ({ ...record, completed: this.#known.checkpoints }));
    this.#model.lastRecorded = id;
    for (const { directory } of subsumed) await this.#storage.discard(directory);
  }
}

async function assertExact(
  memory: MemoryFileSystem,
  record: JobRecord,
  model: Model,
): Promise<void> {
  const io = { clock: new ManualClock(), fileSystem: memory };
  const storage = new FileCheckpointStorage(io, { directory: '/data/cp', jobId: JOB_ID });
  const expected = new Set<string>();
  for (const { directory } of record.completed) {
    const snapshot = await storage.load(directory);
    assert.deepEqual(await verifySnapshotDeep(io, snapshot), []);
    expected.add(`${directory}/_metadata`);
    for (const { handle } of snapshotData(snapshot.metadata))
      if (handle.kind === 'file') expected.add(handlePath(directory, handle));
  }
  assert.deepEqual(await filesBelow(memory, storage.jobDirectory), [...expected].sort());
  assert.ok((record.completed.at(-1)?.checkpointId ?? 0) >= model.lastRecorded, 'one is lost');
  assert.ok(record.nextCheckpointId > model.lastDrawn, 'an id would be drawn twice');
}
