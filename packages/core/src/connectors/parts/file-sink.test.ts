import assert from 'node:assert/strict';
import test from 'node:test';
import type { SinkRecovery } from '../../api/sink.ts';
import { isWeirError } from '../../base/errors.ts';
import type { WeirError } from '../../base/errors.ts';
import type { JobId, OperatorId } from '../../base/ids.ts';
import { FaultyFileSystem } from '../../storage/faulty-file-system.ts';
import { MemoryFileSystem } from '../../storage/memory-file-system.ts';
import { fileSink } from '../file-sink.ts';
import type { FileSinkOptions } from '../file-sink.ts';
import { csv } from '../formats/csv.ts';
import { lines } from '../formats/lines.ts';
import { settle, testEnvironment, writeText } from '../test-support.ts';
import type { TestEnvironment } from '../test-support.ts';
import { basePath } from './buckets.ts';
import type { FileCommittable, FileWriterState } from './part-names.ts';
import { SinkDriver, filesIn, publishedIn, unfinishedIn } from './test-support.ts';
import type { SinkCheckpoint, SinkDriverOptions } from './test-support.ts';

type Driver = SinkDriver<string, FileWriterState, FileCommittable>;
type Checkpoint = SinkCheckpoint<FileWriterState, FileCommittable>;

const OUT = '/out';

interface World {
  readonly disk: MemoryFileSystem;
  readonly environment: TestEnvironment;
  /** A new attempt, higher than those before. */
  readonly attempt: (
    options?: Partial<FileSinkOptions<string>>,
    driver?: SinkDriverOptions,
  ) => Driver;
}

function newWorld(): World {
  const disk = new MemoryFileSystem();
  const environment = testEnvironment(disk);
  let counter = 0;
  return {
    disk,
    environment,
    attempt: (options = {}, driver = {}) => {
      const sink = fileSink({ path: OUT, format: lines(), bucket: basePath(), ...options });
      return new SinkDriver(sink, environment, ++counter, driver);
    },
  };
}

async function failureOf(run: Promise<unknown>): Promise<WeirError> {
  const error: unknown = await run.then(
    () => assert.fail('it must fail'),
    (reason: unknown) => reason,
  );
  assert.ok(isWeirError(error), String(error));
  return error;
}

async function written(driver: Driver, values: readonly string[]): Promise<Driver> {
  await driver.start();
  for (const value of values) driver.write(value);
  return driver;
}

test('a file has its final name once its checkpoint is complete, not before', async () => {
  const { disk, attempt } = newWorld();
  const driver = await written(attempt({ rolling: { onCheckpoint: true }, suffix: '.txt' }), ['a']);
  const checkpoint = await driver.checkpoint(1);
  assert.deepEqual(await publishedIn(disk, OUT), []);
  const [unfinished] = await disk.list(OUT);
  assert.match(unfinished!, /^\.part-abcdef-123456-0-1-1-[0-9a-f]+-0\.inprogress\.[0-9a-f]+$/);
  await driver.complete(checkpoint);
  const [finished, ...others] = await disk.list(OUT);
  assert.match(finished!, /^part-abcdef-123456-0-1-1-[0-9a-f]+-0\.txt$/);
  assert.deepEqual(others, []);
  assert.deepEqual(await publishedIn(disk, OUT), ['a']);
});

test('rolling at each of three records leaves two pending files and one open [I-97]', async () => {
  const { attempt } = newWorld();
  const driver = await written(attempt({ rolling: { maxSizeBytes: 1 } }), ['a', 'b', 'c']);
  const checkpoint = await driver.checkpoint(1);
  assert.equal(checkpoint.committables.length, 2);
  assert.deepEqual(
    checkpoint.writerStates.map(({ open }) => open.length),
    [1],
  );
});

test('by default nothing is pending and the open file is in the state [I-97]', async () => {
  const { attempt } = newWorld();
  const driver = await written(attempt(), ['a', 'b', 'c']);
  const checkpoint = await driver.checkpoint(1);
  assert.equal(checkpoint.committables.length, 0);
  assert.deepEqual(
    checkpoint.writerStates[0]?.open.map(({ sizeBytes }) => sizeBytes),
    [6],
  );
});

test('rolling at checkpoints leaves one pending file and none open [I-97]', async () => {
  const { attempt } = newWorld();
  const driver = await written(attempt({ rolling: { onCheckpoint: true } }), ['a', 'b', 'c']);
  const checkpoint = await driver.checkpoint(1);
  assert.equal(checkpoint.committables.length, 1);
  assert.deepEqual(checkpoint.writerStates[0]?.open, []);
});

test('files open in two subtasks are both finished when restored by one [I-98]', async () => {
  const { disk, attempt } = newWorld();
  const first = attempt();
  await first.start(2);
  first.write('a', 0);
  first.write('b', 1);
  const checkpoint = await first.checkpoint(1);
  first.write('replayed', 0);
  await first.close();
  await attempt().start(1, checkpoint);
  assert.equal((await filesIn(disk, OUT)).size, 2);
  assert.deepEqual(await publishedIn(disk, OUT), ['a', 'b']);
});

test('a file open over many checkpoints is complete in each of them [R074]', async () => {
  const { disk, environment, attempt } = newWorld();
  const hour = { maxAgeMs: 3_600_000, maxIdleMs: 3_600_000 };
  const driver = attempt({ rolling: hour });
  await driver.start();
  const retained: Checkpoint[] = [];
  const rows = Array.from({ length: 240 }, (_, index) => `row ${index}`);
  for (const [index, row] of rows.entries()) {
    driver.write(row);
    environment.clock.advance(10_000);
    if (index % 6 === 5) driver.writers[0]!.onHousekeeping?.();
    retained.push(await driver.checkpoint(index + 1));
    await driver.complete(retained.at(-1)!);
    if (retained.length > 3) retained.shift();
  }
  assert.deepEqual(await publishedIn(disk, OUT), [], 'the file is still open');
  driver.write('after the last checkpoint');
  await driver.close();
  disk.crash();
  await attempt({ rolling: hour }).start(1, retained.at(-1));
  assert.deepEqual(await publishedIn(disk, OUT), rows.toSorted());
});

test('a rerun after a crash before the commit leaves one set of files [R076]', async () => {
  const { disk, attempt } = newWorld();
  const first = attempt({ rolling: { onCheckpoint: true } });
  await first.start();
  const before = await first.checkpoint(5);
  first.write('batch of 6');
  await first.checkpoint(6);
  await first.close();
  const second = attempt({ rolling: { onCheckpoint: true } });
  await second.start(1, before);
  assert.deepEqual([...(await filesIn(disk, OUT)).keys()], [], 'what the crash left is removed');
  second.write('batch of 6');
  await second.complete(await second.checkpoint(6));
  assert.deepEqual(await publishedIn(disk, OUT), ['batch of 6']);
});

test('the end of input closes every file, and its last commit publishes all [R037]', async () => {
  const rows = Array.from({ length: 25 }, (_, index) => `row ${index}`).toSorted();
  const { disk, attempt } = newWorld();
  const first = await written(attempt(), rows.slice(0, 10));
  const tenth = await first.checkpoint(1);
  await first.complete(tenth);
  for (const row of rows.slice(10)) first.write(row);
  const last = await first.checkpoint(2, true);
  assert.deepEqual(last.writerStates[0]?.open, []);
  await first.close();
  // Killed before the final checkpoint was complete: the rerun writes rows 10 to 24 again.
  const second = attempt();
  await second.start(1, tenth);
  for (const row of rows.slice(10)) second.write(row);
  await second.complete(await second.checkpoint(2, true));
  assert.deepEqual(await publishedIn(disk, OUT), rows);
});

test('what a job is stopped with is published, and writing may go on if it is not', async () => {
  const { disk, attempt } = newWorld();
  const first = attempt();
  await first.start(1);
  first.write('1');
  const options = { checkpointId: 1, endOfInput: false, stops: true };
  const { committables, writerStates, durable } = first.writers[0]!.prepareCommit(options);
  await durable;
  assert.equal(committables.length, 1);
  // The stop has failed.
  first.write('2');
  const more = await first.checkpoint(2, true);
  await first.complete({ ...more, committables: [...committables, ...more.committables] });
  assert.deepEqual(await publishedIn(disk, OUT), ['1', '2']);
  assert.deepEqual(writerStates[0]?.open, []);
});

test('a writer that ended and one that ends after a restart publish all [R038]', async () => {
  const { disk, attempt } = newWorld();
  const first = attempt();
  await first.start(2);
  for (const row of ['1', '2', '3', '4', '5']) first.write(row, 0);
  first.write('6', 1);
  const ended = first.writers[0]!.prepareCommit({ checkpointId: 8, endOfInput: true });
  const running = first.writers[1]!.prepareCommit({ checkpointId: 8, endOfInput: false });
  await Promise.all([ended.durable, running.durable]);
  await first.close();
  const second = attempt();
  await second.start(2, {
    id: 8,
    committables: ended.committables,
    writerStates: running.writerStates,
  });
  assert.deepEqual(await publishedIn(disk, OUT), ['1', '2', '3', '4', '5', '6']);
  for (const row of ['7', '8', '9']) second.write(row, 1);
  await second.complete(await second.checkpoint(9, true));
  assert.deepEqual(await publishedIn(disk, OUT), ['1', '2', '3', '4', '5', '6', '7', '8', '9']);
});

test('committing and recovering twice changes nothing [R013]', async () => {
  const { disk, attempt } = newWorld();
  const driver = await written(attempt({ rolling: { maxSizeBytes: 3 } }), ['a', 'b', 'c', 'd']);
  const checkpoint = await driver.checkpoint(1);
  assert.equal(checkpoint.committables.length, 1);
  assert.equal(await driver.committer.probe(checkpoint.committables[0]!), 'pending');
  await driver.complete(checkpoint);
  await driver.committer.commit(checkpoint.committables);
  assert.equal(await driver.committer.probe(checkpoint.committables[0]!), 'committed');
  await driver.close();
  for (let restart = 0; restart < 3; restart++) await attempt().start(1, checkpoint);
  assert.deepEqual(await publishedIn(disk, OUT), ['a', 'b', 'c', 'd']);
  await disk.remove(checkpoint.committables[0]!.finalPath);
  assert.equal(await driver.committer.probe(checkpoint.committables[0]!), 'gone');
});

test('a pending file that is gone is named, and nothing is committed [R112]', async () => {
  const { disk, attempt } = newWorld();
  const driver = await written(attempt({ rolling: { maxSizeBytes: 1 } }), ['a', 'b', 'c']);
  const checkpoint = await driver.checkpoint(1);
  await driver.close();
  const [kept, gone] = checkpoint.committables;
  await disk.remove(gone!.inProgressPath);
  const error = await failureOf(attempt().start(1, checkpoint));
  assert.equal(error.code, 'SINK_UNAVAILABLE');
  assert.equal(error.kind, 'user');
  assert.ok(error.message.includes(gone!.finalPath), error.message);
  assert.deepEqual(await publishedIn(disk, OUT), []);
  assert.equal(await driver.committer.probe(kept!), 'pending');
});

test('a file of a checkpoint that was changed from outside is refused by name', async () => {
  const { disk, attempt } = newWorld();
  const driver = await written(attempt({ rolling: { maxSizeBytes: 1 } }), ['a', 'b']);
  const checkpoint = await driver.checkpoint(1);
  const [pending] = checkpoint.committables;
  const [open] = checkpoint.writerStates[0]!.open;
  await driver.close();
  for (const path of [pending!.inProgressPath, open!.inProgressPath]) {
    const before = await disk.readFile(path);
    await writeText(disk, path, '');
    const error = await failureOf(attempt().start(1, checkpoint));
    assert.equal(error.code, 'SINK_UNAVAILABLE');
    assert.match(error.message, /with 0 bytes where a completed checkpoint wrote 2/);
    await writeText(disk, path, before);
  }
  await writeText(disk, pending!.finalPath, 'foreign');
  const error = await failureOf(driver.committer.commit([pending!]));
  assert.match(error.message, /with 7 bytes where a completed checkpoint wrote 2/);
  assert.equal((await disk.readFile(pending!.finalPath)).length, 7, 'never overwritten');
});

test('an older snapshot is refused when its open file was finished with more [R026]', async () => {
  const { disk, environment, attempt } = newWorld();
  const driver = await written(attempt(), ['a']);
  const older = await driver.checkpoint(4);
  driver.write('b');
  await driver.complete(await driver.checkpoint(5, true));
  await driver.close();
  const error = await failureOf(attempt().start(1, older));
  assert.equal(error.code, 'SINK_AHEAD');
  assert.equal(error.kind, 'user');
  const path = older.writerStates[0]!.open[0]!.finalPath;
  assert.deepEqual(error.details, { path, publishedBytes: 4, sizeBytes: 2 });
  const second = attempt();
  await second.start(1, older, true);
  assert.match(environment.logged.join('\n'), /warn fileSink has published .* written again/);
  second.write('b');
  await second.complete(await second.checkpoint(6, true));
  assert.deepEqual(await publishedIn(disk, OUT), ['a', 'b', 'b']);
});

test('an older snapshot is refused when later files were published [R026]', async () => {
  const { attempt } = newWorld();
  const options = { rolling: { onCheckpoint: true } };
  const first = await written(attempt(options), ['a']);
  const older = await first.checkpoint(4);
  await first.complete(older);
  first.write('b');
  const newer = await first.checkpoint(5);
  await first.complete(newer);
  await first.close();
  const sameWriter = await failureOf(attempt(options).start(1, older));
  assert.equal(sameWriter.code, 'SINK_AHEAD');
  assert.match(sameWriter.message, /published 1 file\(s\) in \/out after the snapshot/);

  const second = attempt(options);
  await second.start(1, newer);
  second.write('c');
  const newest = await second.checkpoint(6);
  await second.complete(newest);
  await second.close();
  const laterWriter = await failureOf(attempt(options).start(1, newer));
  assert.equal(laterWriter.code, 'SINK_AHEAD');
  await attempt(options).start(1, newest);
});

test('a sink whose path was changed says whence it has the old one, and what to do', async () => {
  const { disk, attempt } = newWorld();
  const first = await written(attempt(), ['a']);
  const older = await first.checkpoint(4);
  first.write('b');
  await first.complete(await first.checkpoint(5, true));
  await first.close();
  const path = older.writerStates[0]!.open[0]!.finalPath;
  const moved = { path: '/elsewhere' };
  const whence = /\(the path comes from the snapshot; the sink now writes to \/elsewhere\)/;
  const advice = /the old folder must stand as it was until the new run has completed/;
  const ahead = await failureOf(attempt(moved).start(1, older));
  assert.equal(ahead.code, 'SINK_AHEAD');
  assert.match(ahead.message, /^fileSink has published \/out\//);
  assert.match(ahead.message, whence);
  await writeText(disk, path, '');
  assert.match((await failureOf(attempt(moved).start(1, older))).message, advice);
  await disk.remove(path);
  const gone = await failureOf(attempt(moved).start(1, older));
  assert.match(gone.message, /^fileSink is missing \/out\//);
  assert.match(gone.message, whence);
  assert.match(gone.message, advice);
  const same = await failureOf(attempt().start(1, older));
  assert.doesNotMatch(same.message, /comes from the snapshot/);
});

test('recovery leaves the files of others alone', async () => {
  const { disk, attempt } = newWorld();
  const otherJob = { jobId: 'ffffff0123456789abcdef0123456789' as JobId };
  const otherSink = { operatorId: 'eeeeee789abcdef0123456789abcdef0' as OperatorId };
  for (const options of [{}, otherJob, otherSink]) {
    const driver = await written(attempt({}, options), ['x']);
    await driver.checkpoint(1);
    await driver.close();
  }
  await writeText(disk, `${OUT}/.part-mine.inprogress.1`, 'user');
  const later = await written(attempt(), []);
  const paths = await unfinishedIn(disk, OUT);
  assert.equal(paths.length, 3);
  assert.ok(!paths.some((path) => path.includes('abcdef-123456')));
  // A recovery that arrives late, for an attempt that is not newer, removes nothing.
  later.write('y');
  await later.checkpoint(2);
  const late: SinkRecovery<FileCommittable, FileWriterState> = {
    committables: [],
    writerStates: [],
    attempt: { epoch: 1, counter: later.counter },
    subtasks: 'all',
    allowOlder: false,
  };
  await later.committer.recover(late);
  assert.equal((await unfinishedIn(disk, OUT)).length, 4);
  const newer = { epoch: 2, counter: 0 };
  await later.committer.recover({ ...late, attempt: newer, subtasks: [1] });
  assert.equal((await unfinishedIn(disk, OUT)).length, 4, 'subtask 0 goes on');
  await later.committer.recover({ ...late, attempt: newer, subtasks: [0] });
  assert.equal((await unfinishedIn(disk, OUT)).length, 3);
});

test('files roll by size, age and idleness', async () => {
  const { environment, attempt } = newWorld();
  const { clock } = environment;
  const driver = attempt({ rolling: { maxSizeBytes: 100, maxAgeMs: 60_000, maxIdleMs: 20_000 } });
  await driver.start();
  assert.deepEqual(driver.housekeeping, [20_000]);
  const writer = driver.writers[0]!;
  const closedNow = async (): Promise<number> => {
    writer.onHousekeeping?.();
    return (await driver.checkpoint(1)).committables.length;
  };
  driver.write('x'.repeat(99));
  assert.equal(await closedNow(), 0);
  driver.write('size is reached');
  assert.equal((await driver.checkpoint(1)).committables.length, 1);
  for (let second = 0; second < 59; second += 10) {
    clock.advance(10_000);
    driver.write('not idle');
    if (second < 50) assert.equal(await closedNow(), 1, 'the first, not committed here');
  }
  assert.equal(await closedNow(), 2, 'age');
  driver.write('idle from here');
  clock.advance(19_999);
  assert.equal(await closedNow(), 2);
  clock.advance(1);
  assert.equal(await closedNow(), 3, 'idleness');
});

test('by default age and idleness are looked at every minute', async () => {
  const { attempt } = newWorld();
  const driver = attempt();
  await driver.start();
  assert.deepEqual(driver.housekeeping, [60_000]);
});

test('an hourly sub-folder is the default, and each bucket has its own file', async () => {
  const { disk, environment } = newWorld();
  const sink = fileSink({ path: OUT, format: lines() });
  const driver = new SinkDriver(sink, environment);
  await driver.start();
  driver.write('a');
  environment.clock.advance(3_600_000);
  driver.write('b');
  await driver.complete(await driver.checkpoint(1, true));
  assert.deepEqual(await disk.list(OUT), ['2023-11-14--22', '2023-11-14--23']);
  assert.deepEqual(await publishedIn(disk, OUT), ['a', 'b']);
  assert.deepEqual(sink.outputLocations?.(), [OUT]);
});

test('a bucket outside of the folder, or hidden, is refused', async () => {
  for (const bucket of ['../x', '/x', 'a//b', '.hidden', 'a/_b', undefined as unknown as string]) {
    const driver = newWorld().attempt({ bucket: () => bucket });
    await driver.start();
    assert.throws(() => driver.write('a'), /bucket assigner of a file sink returned/);
  }
});

test('each csv file has a header, and a record that cannot be written no file', async () => {
  const { disk, environment } = newWorld();
  const format = csv<{ a: unknown }>();
  const sink = fileSink({ path: OUT, format, bucket: basePath(), rolling: { maxSizeBytes: 1 } });
  const driver = new SinkDriver(sink, environment);
  await driver.start();
  assert.throws(() => driver.write({ a: {} }), /column "a"/);
  driver.write({ a: 1 });
  driver.write({ a: 2 });
  await driver.complete(await driver.checkpoint(1, true));
  assert.deepEqual([...(await filesIn(disk, OUT)).values()].toSorted(), ['a\n1\n', 'a\n2\n']);
});

test('an empty input publishes no file', async () => {
  const { disk, attempt } = newWorld();
  const driver = await written(attempt(), []);
  const checkpoint = await driver.checkpoint(1, true);
  assert.deepEqual(checkpoint.committables, []);
  assert.deepEqual(await disk.list(OUT), []);
});

test('a slow disk makes the task wait, with bounded memory', async () => {
  const inner = new MemoryFileSystem();
  const environment = testEnvironment(inner);
  const slow = new FaultyFileSystem(environment.clock, inner);
  slow.inject({ operation: 'create', delayMs: 1000, times: 100 });
  const sink = fileSink({ path: OUT, format: lines(), bucket: (value: string) => `b${value[0]}` });
  const driver = new SinkDriver(sink, { ...environment, fileSystem: slow });
  await driver.start();
  const writer = driver.writers[0]!;
  let bytes = 0;
  // Most of it stands in buffers of many buckets that are not full.
  for (let index = 0; writer.isWritable; index++) {
    const text = String.fromCharCode(97 + (index % 26)) + 'x'.repeat(1000);
    driver.write(text);
    bytes += text.length + 1;
  }
  assert.ok(bytes < 5 * 1024 ** 2, `${bytes} bytes`);
  let isResumed = false;
  const resumed = writer.whenWritable().then(() => {
    isResumed = true;
  });
  await settle();
  assert.ok(!isResumed);
  environment.clock.advance(1000);
  await resumed;
  assert.ok(writer.isWritable);
  await driver.close();
});

test('a full disk fails every later call, and names path and reason', async () => {
  const inner = new MemoryFileSystem();
  const environment = testEnvironment(inner);
  const full = new FaultyFileSystem(environment.clock, inner);
  full.inject({ operation: 'write', errno: 'ENOSPC', times: 100 });
  const sink = fileSink({ path: OUT, format: lines(), bucket: basePath() });
  const driver = new SinkDriver(sink, { ...environment, fileSystem: full });
  await driver.start();
  driver.write('a');
  const error = await failureOf(driver.checkpoint(1));
  assert.equal(error.code, 'SINK_UNAVAILABLE');
  assert.equal(error.kind, 'transient');
  assert.equal(error.details['errno'], 'ENOSPC');
  assert.match(String(error.details['path']), /^\/out\/\.part-/);
  assert.throws(() => driver.write('b'), /ENOSPC/);
  await assert.rejects(driver.writers[0]!.whenWritable(), /ENOSPC/);
  await driver.close();
});

test('a folder that cannot be created is refused for good', async () => {
  const inner = new MemoryFileSystem();
  const environment = testEnvironment(inner);
  const readOnly = new FaultyFileSystem(environment.clock, inner);
  readOnly.inject({ operation: 'makeDirectory', errno: 'EROFS' });
  const sink = fileSink({ path: OUT, format: lines() });
  const driver = new SinkDriver(sink, { ...environment, fileSystem: readOnly });
  const error = await failureOf(driver.start());
  assert.equal(error.code, 'SINK_UNAVAILABLE');
  assert.equal(error.kind, 'user');
  assert.deepEqual(error.details, { path: OUT, errno: 'EROFS' });
});

test('a file system without links gets final names by renaming', async () => {
  const inner = new MemoryFileSystem();
  const environment = testEnvironment(inner);
  const faulty = new FaultyFileSystem(environment.clock, inner);
  faulty.inject({ operation: 'link', errno: 'EPERM', times: 100 });
  const sink = fileSink({ path: OUT, format: lines(), bucket: basePath() });
  const driver = new SinkDriver(sink, { ...environment, fileSystem: faulty });
  await written(driver, ['a']);
  await driver.complete(await driver.checkpoint(1, true));
  assert.deepEqual(await publishedIn(inner, OUT), ['a']);
  assert.deepEqual(await unfinishedIn(inner, OUT), []);
});

test('a commit whose answer was lost is done, not failed [R022]', async () => {
  const inner = new MemoryFileSystem();
  const environment = testEnvironment(inner);
  const faulty = new FaultyFileSystem(environment.clock, inner);
  faulty.inject({ operation: 'link', errno: 'EIO', answerLost: true });
  const sink = fileSink({ path: OUT, format: lines(), bucket: basePath() });
  const driver = new SinkDriver(sink, { ...environment, fileSystem: faulty });
  await written(driver, ['a']);
  await driver.complete(await driver.checkpoint(1, true));
  assert.deepEqual(await publishedIn(inner, OUT), ['a']);
});

test('options that cannot work are refused by name', () => {
  const options = { path: OUT, format: lines() };
  assert.throws(() => fileSink({ ...options, rolling: { maxSizeBytes: 0 } }), /maxSizeBytes: 0/);
  assert.throws(() => fileSink({ ...options, suffix: '/x' }), /suffix: "\/x"/);
  assert.throws(() => fileSink({ ...options, path: 'hdfs://x/y' }), /fileSink path/);
});

test('closing waits for files that a checkpoint in progress has taken over', async () => {
  const disk = new MemoryFileSystem();
  const slow = new FaultyFileSystem(testEnvironment(disk).clock, disk);
  const environment = { ...testEnvironment(disk), fileSystem: slow };
  const sink = fileSink({
    path: OUT,
    format: lines(),
    bucket: basePath(),
    rolling: { onCheckpoint: true },
  });
  const driver = new SinkDriver(sink, environment);
  await driver.start();
  const created = Promise.withResolvers<void>();
  const create = slow.create.bind(slow);
  slow.create = async (path, options) => {
    await created.promise;
    return create(path, options);
  };
  driver.write('a');
  const writer = driver.writers[0]!;
  writer.prepareCommit({ checkpointId: 1, endOfInput: false }).durable.catch(() => undefined);
  let isClosed = false;
  const closing = writer.close().then(() => {
    isClosed = true;
  });
  await settle();
  assert.equal(isClosed, false);
  created.resolve();
  await closing;
  assert.equal((await unfinishedIn(disk, OUT)).length, 1);
});

test('a leader that stood still cannot add to what its successor has finished', async () => {
  const { disk, attempt } = newWorld();
  const former = await written(attempt(), ['a', 'b']);
  const checkpoint = await former.checkpoint(1);
  former.write('behind the barrier');
  const successor = attempt({}, { epoch: 2 });
  await successor.start(1, checkpoint);
  assert.deepEqual(await publishedIn(disk, OUT), ['a', 'b']);
  former.write('after it was replaced');
  await former.checkpoint(2);
  assert.deepEqual(await publishedIn(disk, OUT), ['a', 'b']);
  disk.crash();
  assert.deepEqual(await publishedIn(disk, OUT), ['a', 'b']);
  await attempt({}, { epoch: 3 }).start(1, checkpoint);
  assert.deepEqual(await publishedIn(disk, OUT), ['a', 'b']);
  assert.deepEqual(await unfinishedIn(disk, OUT), []);
});

test('a leader that comes back to publish more is told as such, not as damage', async () => {
  const { disk, attempt } = newWorld();
  const checkpoint = await (await written(attempt(), ['a', 'b'])).checkpoint(1);
  const link = disk.link.bind(disk);
  disk.link = async (from, to) => {
    // Just now, by the former leader: the end of its input needs no checkpoint.
    const file = await disk.create(to, { exclusive: true });
    await file.write(new TextEncoder().encode('a\nb\nbehind the barrier\n'));
    await file.close();
    return link(from, to);
  };
  await assert.rejects(attempt({}, { epoch: 2 }).start(1, checkpoint), { code: 'SINK_AHEAD' });
  assert.deepEqual(await unfinishedIn(disk, OUT).then((left) => left.length), 1, 'no copy stays');
});

test('a final name that was not durable when its giver failed is made so by the next', async () => {
  const { disk, attempt } = newWorld();
  const checkpoint = await (await written(attempt(), ['a', 'b'])).checkpoint(1);
  const syncDirectory = disk.syncDirectory.bind(disk);
  disk.syncDirectory = (path) =>
    path === OUT ? Promise.reject(new Error('the disk is gone')) : syncDirectory(path);
  await assert.rejects(attempt({}, { epoch: 2 }).start(1, checkpoint), /the disk is gone/);
  assert.deepEqual(await publishedIn(disk, OUT), ['a', 'b'], 'linked already');
  disk.syncDirectory = syncDirectory;
  await attempt({}, { epoch: 3 }).start(1, checkpoint);
  disk.crash();
  assert.deepEqual(await publishedIn(disk, OUT), ['a', 'b']);
  await attempt({}, { epoch: 4 }).start(1, checkpoint);
  assert.deepEqual(await publishedIn(disk, OUT), ['a', 'b']);
});
