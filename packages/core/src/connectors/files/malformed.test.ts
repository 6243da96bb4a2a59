import assert from 'node:assert/strict';
import test from 'node:test';
import { isWeirError } from '../../base/errors.ts';
import { seededRandom } from '../../base/random.ts';
import { FaultyFileSystem } from '../../storage/faulty-file-system.ts';
import { MemoryFileSystem } from '../../storage/memory-file-system.ts';
import { fileSource } from '../file-source.ts';
import type { FileSourceOptions } from '../file-source.ts';
import { lines } from '../formats/lines.ts';
import { ndjson } from '../formats/ndjson.ts';
import { SourceDriver, settle, testEnvironment, writeText } from '../test-support.ts';
import type { SourceCheckpoint } from '../test-support.ts';
import type { FileEnumeratorState, FileSplit } from './file-split.ts';

type Checkpoint = SourceCheckpoint<FileSplit, FileEnumeratorState>;

interface DeadLetter {
  readonly file: string;
  readonly position: number;
  readonly reason: string;
  readonly line?: string;
  readonly bytesBase64?: string;
}

async function deadLettersIn(fileSystem: MemoryFileSystem, folder: string): Promise<DeadLetter[]> {
  const entries: DeadLetter[] = [];
  for (const name of await fileSystem.list(folder)) {
    if (name.startsWith('.')) continue;
    const text = Buffer.from(await fileSystem.readFile(`${folder}/${name}`)).toString();
    assert.ok(text.endsWith('\n'), 'a dead-letter file ends with a whole line');
    for (const line of text.trimEnd().split('\n')) entries.push(JSON.parse(line) as DeadLetter);
  }
  return entries.toSorted((a, b) => a.position - b.position);
}

const numbers = ndjson<number>();

test('policy fail names file, byte position and line, the same at every try [R107]', async () => {
  const environment = testEnvironment();
  await writeText(environment.fileSystem, '/in.txt', '1\n"x\n3\n');
  const messages = new Set<string>();
  for (let attempt = 0; attempt < 3; attempt++) {
    const driver = new SourceDriver(fileSource({ path: '/in.txt', format: numbers }), environment);
    await driver.start();
    const error: unknown = await driver.finish().catch((reason: unknown) => reason);
    assert.ok(isWeirError(error), String(error));
    assert.equal(error.code, 'RECORD_MALFORMED');
    assert.deepEqual(error.details, { file: '/in.txt', position: 2, line: '"x' });
    messages.add(error.message);
  }
  assert.equal(messages.size, 1);
  assert.match([...messages][0]!, /\/in\.txt: the line at byte 2 cannot be read as ndjson/);
});

test('policy skip counts what it passes over', async () => {
  const environment = testEnvironment();
  await writeText(environment.fileSystem, '/in.txt', '1\nx\n\n3\n{\n');
  const options = { path: '/in.txt', format: numbers, onMalformed: 'skip' } as const;
  const driver = new SourceDriver(fileSource(options), environment);
  await driver.start();
  await driver.finish();
  assert.deepEqual(driver.values, [1, 3]);
  assert.deepEqual([...driver.counters.counts], [['malformedRecords', 2]]);
});

test('bytes that are not UTF-8, and lines above the limit, are malformed', async () => {
  const fileSystem = new MemoryFileSystem();
  const environment = testEnvironment(fileSystem);
  const content = [
    Buffer.from('gut\n'),
    Buffer.from([0x67, 0xfc, 0x74, 10]),
    Buffer.from(`${'y'.repeat(11)}\nüüüüü\n${'z'.repeat(600_000)}\n${'e'.repeat(10)}`),
  ];
  await writeText(fileSystem, '/in.txt', Buffer.concat(content));
  const options = { path: '/in.txt', format: lines(), onMalformed: { deadLetter: '/bad' } };
  const driver = new SourceDriver(fileSource({ ...options, maxLineBytes: 10 }), environment);
  await driver.start();
  await driver.finish();
  assert.deepEqual(driver.values, ['gut', 'üüüüü', 'e'.repeat(10)]);
  const [notText, long, veryLong, ...others] = await deadLettersIn(fileSystem, '/bad');
  assert.deepEqual(others, []);
  assert.equal(notText?.bytesBase64, Buffer.from([0x67, 0xfc, 0x74]).toString('base64'));
  assert.match(notText.reason, /not UTF-8/);
  assert.equal(long?.line, 'y'.repeat(11));
  assert.match(long.reason, /more than 10 bytes/);
  assert.equal(veryLong?.position, 4 + 4 + 12 + 11);
  assert.ok(veryLong.line!.startsWith('zzz'));
  assert.match(veryLong.reason, /more than 10 bytes/);
});

/** Runs until the end with kills at random moments; all runs of one id share the disk. */
async function runWithKills(
  disk: MemoryFileSystem,
  options: FileSourceOptions<number>,
  seed: number,
): Promise<number[]> {
  const random = seededRandom(seed);
  const committed: number[] = [];
  let checkpoint: Checkpoint | undefined;
  for (let attempt = 1; attempt < 60; attempt++) {
    const view = new FaultyFileSystem(testEnvironment().clock, disk);
    const driver = new SourceDriver(fileSource(options), testEnvironment(view, seed + attempt));
    const parallelism = 1 + random.int(3);
    await driver.start(parallelism, checkpoint);
    const isLast = attempt > 8;
    for (let step = isLast ? 1e6 : random.int(60); step > 0 && !driver.hasEnded; step--) {
      driver.poll(random.int(parallelism), 1 + random.int(700));
      if (random.int(3) === 0) await settle();
      if (random.int(8) > 0) continue;
      const taken = driver.snapshot(attempt);
      committed.push(...taken.values);
      checkpoint = taken;
      if (random.int(2) === 0) await driver.completeCheckpoint(attempt);
    }
    if (driver.hasEnded) return [...committed, ...driver.values];
    // Killed: what was under way never happens, what was not synced may be gone.
    view.stopAfter(0);
    if (random.int(3) === 0) disk.crash(random);
  }
  assert.fail('the source must end');
}

test('dead letters stand in their folder once, whatever is replayed [R107]', async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const random = seededRandom(seed);
    const rows = Array.from({ length: 9000 }, (_, index) =>
      random.int(3) === 0 ? `bad ${index}` : String(index),
    );
    const disk = new MemoryFileSystem();
    await writeText(disk, '/in.txt', rows.join('\n'));
    await disk.syncDirectory('/');
    const values = await runWithKills(
      disk,
      {
        path: '/in.txt',
        format: numbers,
        splitSizeBytes: 30_000,
        onMalformed: { deadLetter: '/dead/letters' },
      },
      seed,
    );
    const isBad = (row: string): boolean => row.startsWith('bad');
    const good = rows.filter((row) => !isBad(row)).map(Number);
    assert.deepEqual(
      values.toSorted((a, b) => a - b),
      good,
    );
    const dead = await deadLettersIn(disk, '/dead/letters');
    assert.deepEqual(
      dead.map(({ line }) => line),
      rows.filter(isBad),
      `seed ${seed}`,
    );
  }
});

test('dead letters of a completed checkpoint can be read before the input ends', async () => {
  const fileSystem = new MemoryFileSystem();
  const environment = testEnvironment(fileSystem);
  await writeText(fileSystem, '/in.txt', '1\nx\n2\n3\n');
  const options = { path: '/in.txt', format: numbers, onMalformed: { deadLetter: '/bad' } };
  const driver = new SourceDriver(fileSource(options), environment);
  await driver.start();
  while (driver.collected.length < 2) {
    driver.poll(0, 1);
    await settle();
  }
  const checkpoint = driver.snapshot();
  assert.deepEqual(
    checkpoint.splits[0]?.deadLetters.map(({ position }) => position),
    [2],
  );
  assert.deepEqual(await deadLettersIn(fileSystem, '/bad'), []);
  await driver.completeCheckpoint();
  assert.equal((await deadLettersIn(fileSystem, '/bad'))[0]?.line, 'x');
});

test('a slow dead-letter folder slows the reader, with bounded memory', async () => {
  const inner = new MemoryFileSystem();
  const environment = testEnvironment(inner);
  const slow = new FaultyFileSystem(environment.clock, inner);
  await writeText(inner, '/in.txt', `${'x'.repeat(99)}\n`.repeat(20_000));
  slow.inject({ operation: 'create', path: '/bad', delayMs: 1000 });
  const options = { path: '/in.txt', format: numbers, onMalformed: { deadLetter: '/bad' } };
  const driver = new SourceDriver(fileSource(options), { ...environment, fileSystem: slow });
  await driver.start();
  await driver.drain();
  const [split] = driver.snapshot().splits;
  const count = split!.deadLetters.reduce((sum, { lines: kept }) => sum + kept.length, 0);
  assert.ok(count < 5000, `${count} dead letters in memory`);
  environment.clock.advance(1000);
  await driver.finish();
  assert.equal((await deadLettersIn(inner, '/bad')).length, 20_000);
});

test('a dead-letter folder that cannot be written is named', async () => {
  const inner = new MemoryFileSystem();
  const faulty = new FaultyFileSystem(testEnvironment().clock, inner);
  await writeText(inner, '/in.txt', 'x\n1\n');
  faulty.inject({ operation: 'create', path: '/bad', errno: 'ENOSPC' });
  const options = { path: '/in.txt', format: numbers, onMalformed: { deadLetter: '/bad' } };
  const driver = new SourceDriver(fileSource(options), testEnvironment(faulty));
  await driver.start();
  const error: unknown = await driver.finish().catch((reason: unknown) => reason);
  assert.ok(isWeirError(error), String(error));
  assert.equal(error.code, 'SINK_UNAVAILABLE');
  assert.deepEqual(error.details, { path: '/bad', errno: 'ENOSPC' });
});
