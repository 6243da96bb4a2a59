import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../../base/random.ts';
import { FaultyFileSystem } from '../../storage/faulty-file-system.ts';
import { MemoryFileSystem } from '../../storage/memory-file-system.ts';
import { fileSink } from '../file-sink.ts';
import { lines } from '../formats/lines.ts';
import { settle, testEnvironment } from '../test-support.ts';
import type { FileCommittable, FileWriterState } from './part-names.ts';
import { SinkDriver, publishedIn, unfinishedIn } from './test-support.ts';
import type { SinkCheckpoint } from './test-support.ts';

const OUT = '/data/out';

interface Plan {
  readonly records: number;
  readonly kills: number;
  readonly maxSizeBytes: number;
  readonly onCheckpoint: boolean;
  readonly buckets: number;
  readonly isPowerLost: boolean;
  readonly seed: number;
}

const plan: fc.Arbitrary<Plan> = fc.record({
  records: fc.integer({ min: 0, max: 150 }),
  kills: fc.integer({ min: 0, max: 8 }),
  maxSizeBytes: fc.integer({ min: 1, max: 200 }),
  onCheckpoint: fc.boolean(),
  buckets: fc.integer({ min: 1, max: 3 }),
  isPowerLost: fc.boolean(),
  seed: fc.nat(),
});

/** What survives a kill beside the disk: the newest complete checkpoint, with its position. */
interface Durable {
  checkpoint?: SinkCheckpoint<FileWriterState, FileCommittable>;
  position: number;
  isEnded: boolean;
}

/** Awaits a step; false when the process was killed during it. */
async function survives(view: FaultyFileSystem, step: Promise<void>): Promise<boolean> {
  let isDone = false;
  const failures: Error[] = [];
  step.then(
    () => (isDone = true),
    (error: Error) => failures.push(error),
  );
  for (let tries = 0; !isDone && failures.length === 0 && !view.isStopped; tries++) {
    assert.ok(tries < 1000, 'a step must end');
    await settle();
  }
  if (!view.isStopped) assert.deepEqual(failures, []);
  return isDone;
}

/** One process: recovers, writes records and takes checkpoints until it is killed or done. */
async function runProcess(
  view: FaultyFileSystem,
  plan: Plan,
  counter: number,
  durable: Durable,
): Promise<void> {
  const random = seededRandom(plan.seed + counter);
  const sink = fileSink<string>({
    path: OUT,
    format: lines(),
    rolling: { maxSizeBytes: plan.maxSizeBytes, onCheckpoint: plan.onCheckpoint },
    bucket: (value) => ['', 'b', 'c/d'][Number(value) % plan.buckets]!,
  });
  const driver = new SinkDriver(sink, testEnvironment(view, counter), counter);
  const parallelism = 1 + random.int(3);
  if (!(await survives(view, driver.start(parallelism, durable.checkpoint)))) return;
  let position = durable.position;
  for (let id = (durable.checkpoint?.id ?? 0) + 1; !durable.isEnded; id++) {
    for (let count = random.int(20); count > 0 && position < plan.records; count--)
      driver.write(String(position++), random.int(parallelism));
    if (random.int(3) === 0) await settle();
    const isLast = position === plan.records;
    const step = async (): Promise<void> => {
      const taken = await driver.checkpoint(id, isLast);
      // Some are aborted: their committables go with the next that completes.
      if (!isLast && random.int(4) === 0) return;
      durable.checkpoint = taken;
      durable.position = position;
      await driver.complete(taken);
      durable.isEnded = isLast;
    };
    if (view.isStopped || !(await survives(view, step()))) return;
  }
}

test('every record is published exactly once, wherever processes are killed', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (plan) => {
      const disk = new MemoryFileSystem();
      const random = seededRandom(plan.seed);
      const durable: Durable = { position: 0, isEnded: false };
      for (let counter = 1; !durable.isEnded; counter++) {
        const view = new FaultyFileSystem(testEnvironment().clock, disk);
        if (counter <= plan.kills) view.stopAfter(random.int(120));
        await runProcess(view, plan, counter, durable);
        if (durable.isEnded) break;
        view.stopAfter(0);
        if (plan.isPowerLost) disk.crash(random);
      }
      const published = await publishedIn(disk, OUT);
      const expected = Array.from({ length: plan.records }, (_, index) => String(index));
      assert.deepEqual(published, expected.toSorted());
      assert.deepEqual(await unfinishedIn(disk, OUT), []);
    }),
    { numRuns: 200 },
  );
});
