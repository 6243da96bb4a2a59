import assert from 'node:assert/strict';
import test from 'node:test';
import { gzipSync } from 'node:zlib';
import { pathToFileURL } from 'node:url';
import type { FileSystem } from '../../base/file-system.ts';
import { isWeirError } from '../../base/errors.ts';
import type { WeirError } from '../../base/errors.ts';
import { FaultyFileSystem } from '../../storage/faulty-file-system.ts';
import { MemoryFileSystem } from '../../storage/memory-file-system.ts';
import { fileSource } from '../file-source.ts';
import type { FileSourceOptions } from '../file-source.ts';
import { csv } from '../formats/csv.ts';
import { lines } from '../formats/lines.ts';
import { ndjson } from '../formats/ndjson.ts';
import { SourceDriver, settle, testEnvironment, writeText } from '../test-support.ts';
import type { TestEnvironment } from '../test-support.ts';
import type { FileEnumeratorState, FileSplit } from './file-split.ts';

type Driver<T> = SourceDriver<T, FileSplit, FileEnumeratorState>;

function driverOf<T>(environment: TestEnvironment, options: FileSourceOptions<T>): Driver<T> {
  return new SourceDriver(fileSource(options), environment);
}

async function readAll<T>(
  environment: TestEnvironment,
  options: FileSourceOptions<T>,
  parallelism = 1,
): Promise<T[]> {
  const driver = driverOf(environment, options);
  await driver.start(parallelism);
  await driver.finish();
  await driver.close();
  return driver.values;
}

async function inputOf(files: Record<string, string | Uint8Array>): Promise<TestEnvironment> {
  const environment = testEnvironment();
  for (const [path, content] of Object.entries(files))
    await writeText(environment.fileSystem, path, content);
  return environment;
}

async function failureOf(run: Promise<unknown>): Promise<WeirError> {
  const error: unknown = await run.then(
    () => assert.fail('it must fail'),
    (reason: unknown) => reason,
  );
  assert.ok(isWeirError(error), String(error));
  return error;
}

test('lines end with LF or CRLF, the last one with the file', async () => {
  const environment = await inputOf({ '/in.txt': 'a\r\nb\n\nc ü€😀\nlast' });
  const values = await readAll(environment, { path: '/in.txt', format: lines() });
  assert.deepEqual(values, ['a', 'b', '', 'c ü€😀', 'last']);
});

test('a byte order mark is no part of the first line', async () => {
  const environment = await inputOf({ '/in.txt': '\ufeffa\n\ufeffb' });
  const values = await readAll(environment, { path: '/in.txt', format: lines() });
  assert.deepEqual(values, ['a', '\ufeffb']);
});

test('an empty file has no record', async () => {
  const environment = await inputOf({ '/in.txt': '', '/in.csv': '', '/in.gz': gzipSync('') });
  assert.deepEqual(await readAll(environment, { path: '/in.txt', format: lines() }), []);
  assert.deepEqual(await readAll(environment, { path: '/in.csv', format: csv() }), []);
  assert.deepEqual(await readAll(environment, { path: '/in.gz', format: lines() }), []);
});

test('latin1 text is read as such', async () => {
  const environment = await inputOf({ '/in.txt': Buffer.from('gr\u00fc\u00df\n', 'latin1') });
  const options = { path: '/in.txt', format: lines(), encoding: 'latin1' } as const;
  assert.deepEqual(await readAll(environment, options), ['grüß']);
});

test('gzip files are recognised by name, and may have several members', async () => {
  const packed = Buffer.concat([gzipSync('a\nb'), gzipSync('c\nd\n')]);
  const environment = await inputOf({ '/in/x.gz': packed, '/other': packed });
  assert.deepEqual(await readAll(environment, { path: '/in', format: lines() }), ['a', 'bc', 'd']);
  const other = { path: '/other', format: lines(), compression: 'gzip' } as const;
  assert.deepEqual(await readAll(environment, other), ['a', 'bc', 'd']);
});

test('a folder is read with its sub-folders, in order, without hidden files', async () => {
  const environment = await inputOf({
    '/in/b.txt': 'b',
    '/in/a/z.txt': 'z',
    '/in/a/.part-0.inprogress.1': 'no',
    '/in/_SUCCESS': 'no',
    '/in/.hidden/x.txt': 'no',
  });
  assert.deepEqual(await readAll(environment, { path: '/in/', format: lines() }), ['z', 'b']);
  const hidden = { path: '/in/_SUCCESS', format: lines() };
  assert.deepEqual(await readAll(environment, hidden), ['no'], 'named outright, it is read');
});

test('patterns choose files and folders', async () => {
  const environment = await inputOf({
    '/in/2024-01/a.txt': 'a1',
    '/in/2024-02/a.txt': 'a2',
    '/in/2024-02/deep/b.csv': 'b2',
    '/in/2025-01/a.txt': 'a3',
    '/in/[x].txt': 'x',
  });
  const read = (path: string): Promise<string[]> => readAll(environment, { path, format: lines() });
  assert.deepEqual(await read('/in/2024-*/*.txt'), ['a1', 'a2']);
  assert.deepEqual(await read('/in/202[45]-01'), ['a1', 'a3']);
  assert.deepEqual(await read('/in/202[!4]-??/a.txt'), ['a3']);
  assert.deepEqual(await read('/in/**/*.{csv,txt}'), ['a1', 'a2', 'b2', 'a3', 'x']);
  assert.deepEqual(await read('/in/2024-02/**'), ['a2', 'b2']);
  assert.deepEqual(await read('/in/[x].txt'), ['x'], 'a file that exists is no pattern');
});

test('paths may be file URIs', async () => {
  const environment = await inputOf({ '/in dir/a.txt': 'a' });
  const path = pathToFileURL('/in dir/a.txt').href;
  assert.deepEqual(await readAll(environment, { path, format: lines() }), ['a']);
  assert.throws(() => fileSource({ path: 's3://bucket/x', format: lines() }), /fileSource path/);
});

test('a big file is split by range and every line is read once, in any split size', async () => {
  const expected = Array.from({ length: 60 }, (_, index) => 'x'.repeat(index % 7));
  for (let splitSizeBytes = 1; splitSizeBytes < 40; splitSizeBytes++) {
    const environment = await inputOf({ '/in.txt': expected.join('\n') });
    const options = { path: '/in.txt', format: lines(), splitSizeBytes };
    const values = await readAll(environment, options, 3);
    assert.deepEqual(values.toSorted(), expected.toSorted(), `split size ${splitSizeBytes}`);
  }
});

test('without a size given, splits are cut so that every subtask has work', async () => {
  const line = 'x'.repeat(1023);
  const environment = await inputOf({ '/in.txt': `${line}\n`.repeat(4096) });
  const driver = driverOf(environment, { path: '/in.txt', format: lines() });
  await driver.start(3);
  await driver.drain();
  assert.equal(driver.collected.length, 4096);
  const splits = new Set(driver.collected.map(({ splitId }) => splitId));
  assert.equal(splits.size, 3);
  assert.deepEqual(new Set(driver.finishedSplits), splits);
});

test('the stored position is the next byte, so only what was appended follows [R004]', async () => {
  const environment = await inputOf({ '/in.txt': '1\n2\n3\n' });
  const options = { path: '/in.txt', format: ndjson<number>() };
  const first = driverOf(environment, options);
  await first.start();
  for (let tries = 0; first.collected.length < 3 && tries < 10; tries++) {
    first.poll(0, 3 - first.collected.length);
    await settle();
  }
  const checkpoint = first.snapshot();
  assert.deepEqual(checkpoint.values, [1, 2, 3]);
  assert.equal(checkpoint.splits[0]?.position, 6);
  const text = fileSource(options).describeSplit?.(checkpoint.splits[0]);
  assert.equal(text, '/in.txt at byte 6');

  await writeText(environment.fileSystem, '/in.txt', '1\n2\n3\n4\n');
  const second = driverOf(environment, options);
  await second.start(1, checkpoint);
  await second.drain();
  assert.deepEqual(second.values, [4]);
});

test('csv splits know the header of their file', async () => {
  const rows = Array.from({ length: 30 }, (_, index) => `${index},"v,${index}"`);
  const environment = await inputOf({ '/in.csv': `\ufeffid,value\r\n${rows.join('\r\n')}\r\n` });
  for (const splitSizeBytes of [3, 10, 64]) {
    const options = { path: '/in.csv', format: csv(), splitSizeBytes };
    const values = await readAll(environment, options, 2);
    const expected = rows.map((_, index) => ({ id: String(index), value: `v,${index}` }));
    assert.deepEqual(
      values.toSorted((a, b) => Number(a['id']) - Number(b['id'])),
      expected,
    );
  }
});

test('a header that does not fit the format names the file and the line', async () => {
  const environment = await inputOf({ '/in.csv': 'id,x\n1,2\n' });
  const format = csv({ columns: ['name'] });
  const error = await failureOf(readAll(environment, { path: '/in.csv', format }));
  assert.equal(error.code, 'RECORD_MALFORMED');
  assert.equal(error.kind, 'user');
  assert.match(error.message, /in\.csv.*no column "name".*the line is "id,x"/);
});

test('a missing input is refused at the start, by name', async () => {
  const environment = await inputOf({ '/in/a.txt': 'a' });
  for (const path of ['/in/b.txt', '/nowhere/*.txt']) {
    const error = await failureOf(readAll(environment, { path, format: lines() }));
    assert.equal(error.code, 'SOURCE_UNAVAILABLE');
    assert.equal(error.kind, 'user');
    assert.equal(error.details['path'], path);
    assert.ok(error.message.includes(path));
  }
});

test('an empty folder ends at once, with a warning', async () => {
  const environment = await inputOf({ '/in/.hidden': '' });
  assert.deepEqual(await readAll(environment, { path: '/in', format: lines() }), []);
  assert.deepEqual(environment.logged, ['warn fileSource found no file in /in']);
});

async function readTwoThenRestart(
  environment: TestEnvironment,
  options: FileSourceOptions<string>,
  between: (fileSystem: FileSystem) => Promise<void>,
): Promise<string[]> {
  const first = driverOf(environment, options);
  await first.start();
  for (let tries = 0; first.collected.length < 2 && tries < 20_000; tries++) {
    first.poll(0, 2 - first.collected.length);
    await settle();
  }
  const checkpoint = first.snapshot();
  assert.equal(checkpoint.values.length, 2);
  await between(environment.fileSystem);
  const second = driverOf(environment, options);
  await second.start(1, checkpoint);
  await second.finish();
  return second.values;
}

test('a file that shrank or vanished between runs is an error, never an early end', async () => {
  const environment = await inputOf({ '/in.txt': 'a\nb\nc\n' });
  const options = { path: '/in.txt', format: lines() };
  const shrunk = await failureOf(
    readTwoThenRestart(environment, options, (fs) => writeText(fs, '/in.txt', 'a\nb\n')),
  );
  assert.equal(shrunk.code, 'SOURCE_UNAVAILABLE');
  assert.match(shrunk.message, /\/in\.txt: it had 6 bytes .* now ends after 4,/);

  await writeText(environment.fileSystem, '/in.txt', 'a\nb\nc\n');
  const vanished = await failureOf(
    readTwoThenRestart(environment, options, (fs) => fs.remove('/in.txt')),
  );
  assert.equal(vanished.code, 'SOURCE_UNAVAILABLE');
  assert.match(vanished.message, /\/in\.txt: .* is gone now, after being read to byte 4/);
});

test('a file cut while it is read is an error too', async () => {
  const fileSystem = new MemoryFileSystem();
  const environment = testEnvironment(fileSystem);
  await writeText(fileSystem, '/in.txt', 'a\n'.repeat(400_000));
  const driver = driverOf(environment, { path: '/in.txt', format: lines() });
  await driver.start();
  while (driver.collected.length === 0) {
    driver.poll(0, 1);
    await settle();
  }
  await fileSystem.truncate('/in.txt', 600_000);
  const error = await failureOf(driver.finish());
  assert.equal(error.code, 'SOURCE_UNAVAILABLE');
  assert.match(error.message, /it had 800000 bytes .* now ends after \d+,/);
});

test('gzip goes on at the stored position, and notices another file', async () => {
  const environment = await inputOf({ '/in.gz': gzipSync('a\nb\nc\nd\n') });
  const options = { path: '/in.gz', format: lines() };
  const rest = await readTwoThenRestart(environment, options, async () => undefined);
  assert.deepEqual(rest, ['c', 'd']);
  const other = Buffer.concat([gzipSync('a'), gzipSync(''), gzipSync('')]);
  const error = await failureOf(
    readTwoThenRestart(environment, options, (fs) => writeText(fs, '/in.gz', other)),
  );
  assert.match(error.message, /at byte 4 of its uncompressed text: it now has only 1 bytes/);
});

test('a damaged gzip file is named', async () => {
  const packed = gzipSync('a\n'.repeat(1000));
  const environment = await inputOf({ '/cut.gz': packed.subarray(0, packed.length - 10) });
  const error = await failureOf(readAll(environment, { path: '/cut.gz', format: lines() }));
  assert.equal(error.code, 'SOURCE_UNAVAILABLE');
  assert.match(error.message, /cannot uncompress \/cut\.gz: unexpected end of file/);
});

test('a disk that fails while reading is a transient error of the source', async () => {
  const inner = new MemoryFileSystem();
  const faulty = new FaultyFileSystem(testEnvironment().clock, inner);
  await writeText(inner, '/in.txt', 'a\n');
  faulty.inject({ operation: 'read', errno: 'EIO' });
  faulty.inject({ operation: 'openForRead', skip: 1, errno: 'EACCES' });
  const environment = testEnvironment(faulty);
  const options = { path: '/in.txt', format: lines() };
  const error = await failureOf(readAll(environment, options));
  assert.equal(error.code, 'SOURCE_UNAVAILABLE');
  assert.equal(error.kind, 'transient');
  assert.deepEqual(error.details, { path: '/in.txt', errno: 'EIO' });
  const denied = await failureOf(readAll(environment, options));
  assert.equal(denied.kind, 'user');
});

test('a watched folder gives new files, each once, also after a restart', async () => {
  const environment = await inputOf({ '/in/a.txt': 'a1\na2\n' });
  const options = { path: '/in', format: lines(), watch: { intervalMs: 100 } };
  const first = driverOf(environment, options);
  await first.start(2);
  await first.drain();
  assert.deepEqual(first.values, ['a1', 'a2']);
  await writeText(environment.fileSystem, '/in/.b.txt.tmp', 'b');
  await writeText(environment.fileSystem, '/in/c.txt', 'c');
  environment.clock.advance(100);
  await first.drain();
  assert.deepEqual(first.values, ['a1', 'a2', 'c']);
  assert.ok(!first.hasEnded);
  const checkpoint = first.snapshot();
  await first.close();

  await environment.fileSystem.rename('/in/.b.txt.tmp', '/in/b.txt');
  const second = driverOf(environment, options);
  await second.start(1, checkpoint);
  environment.clock.advance(0);
  await second.drain();
  assert.deepEqual(second.values, ['b']);
  await second.close();
  assert.equal(environment.clock.pendingCount(), 0);
});

test('a rate holds over all subtasks together', async () => {
  const environment = await inputOf({ '/in.txt': 'x\n'.repeat(10_000) });
  const options = { path: '/in.txt', format: lines(), splitSizeBytes: 5000, rate: 1000 };
  const driver = driverOf(environment, options);
  await driver.start(2);
  for (let ms = 0; ms < 2000; ms += 20) {
    await driver.drain();
    environment.clock.advance(20);
  }
  const count = driver.collected.length;
  assert.ok(count >= 1900 && count <= 2010, `${count} records in 2 s`);
});

test('options that cannot work are refused by name', () => {
  const options = { path: '/in', format: lines() };
  assert.throws(() => fileSource({ ...options, rate: 0 }), /fileSource rate: 0/);
  assert.throws(() => fileSource({ ...options, splitSizeBytes: 0.5 }), /splitSizeBytes: 0.5/);
  assert.throws(() => fileSource({ ...options, watch: { intervalMs: -1 } }), /intervalMs: -1/);
  assert.throws(
    () => fileSource({ ...options, onMalformed: { deadLetter: '/in/bad' } }),
    /\/in\/bad lies in the input folder/,
  );
});
