import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { seededRandom } from '../base/random.ts';
import { DirectoryLog } from './directory-log.ts';
import { FaultyFileSystem } from './faulty-file-system.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import { storageErrno } from './storage-error.ts';
import { runWithClock } from './test-support.ts';

const DIRECTORY = '/data/jobs/a';

interface World {
  readonly clock: ManualClock;
  readonly memory: MemoryFileSystem;
  readonly disk: FaultyFileSystem;
  readonly warnings: string[];
  /** Another process: its own memory, the same disk. */
  readonly open: (seed: number) => DirectoryLog;
}

function setUp(memory: MemoryFileSystem = new MemoryFileSystem()): World {
  const clock = new ManualClock();
  const disk = new FaultyFileSystem(clock, memory);
  const warnings: string[] = [];
  const logger: Logger = { log: (_level, message) => void warnings.push(message) };
  const open = (seed: number): DirectoryLog => {
    const io = { clock, fileSystem: disk, random: seededRandom(seed), logger };
    return new DirectoryLog(io, DIRECTORY);
  };
  return { clock, memory, disk, warnings, open };
}

test('an empty log has no newest entry', async () => {
  assert.equal(await setUp().open(1).readNewest(), null);
});

test('a sequence goes to one record only', async () => {
  const { open } = setUp();
  const [first, second] = [open(1), open(2)];
  assert.equal(await first.append(1, { by: 'first' }), 'appended');
  assert.equal(await second.append(1, { by: 'second' }), 'taken');
  assert.deepEqual(await second.readNewest(), { sequence: 1, record: { by: 'first' } });
});

test('of many processes that append at once, exactly one succeeds', async () => {
  const { open } = setUp();
  const logs = [1, 2, 3, 4, 5].map(open);
  const outcomes = await Promise.all(logs.map((log, i) => log.append(1, i)));
  assert.equal(outcomes.filter((outcome) => outcome === 'appended').length, 1);
  const winner = outcomes.indexOf('appended');
  assert.equal((await logs[0]!.readNewest())?.record, winner);
});

test('a claim removes what killed writers left, also when others claim at once', async () => {
  const { memory, open } = setUp();
  await memory.makeDirectory(DIRECTORY);
  const left = await memory.create(`${DIRECTORY}/.append-dead`, { exclusive: true });
  await left.close();
  const outcomes = await Promise.all(
    [1, 2, 3, 4, 5].map((seed) => open(seed).append(1, seed, { permanent: true })),
  );
  assert.equal(outcomes.filter((outcome) => outcome === 'appended').length, 1);
  assert.deepEqual(await memory.list(DIRECTORY), ['000000000001.record']);
});

test('what was appended survives a power failure', async () => {
  const { memory, open } = setUp();
  const log = open(1);
  await log.append(1, 'a');
  await log.append(2, 'b');
  memory.crash();
  assert.deepEqual(await setUp(memory).open(2).readNewest(), { sequence: 2, record: 'b' });
});

test('compaction leaves the newest record and the permanent ones', async () => {
  const { memory, open } = setUp();
  const log = open(1);
  await log.append(1, 'claim', { permanent: true });
  for (const sequence of [2, 3, 4]) {
    await log.append(sequence, sequence);
    await log.compact();
  }
  const next = open(2);
  await next.append(5, 'claim', { permanent: true });
  await next.compact();
  await next.append(6, 6);
  await next.compact();
  assert.deepEqual(await memory.list(DIRECTORY), [
    '000000000001.record',
    '000000000005.record',
    '000000000006.record',
  ]);
});

test('an append of a stale leader is seen as late although its number is free again', async () => {
  const { memory, open } = setUp();
  const [leader, stale] = [open(1), open(2)];
  await leader.append(1, 'a');
  for (const sequence of [2, 3]) await leader.append(sequence, sequence);
  await leader.compact();
  assert.deepEqual(await memory.list(DIRECTORY), ['000000000003.record']);
  assert.equal(await stale.append(2, 'from the past', { permanent: true }), 'taken');
  assert.deepEqual(await stale.readNewest(), { sequence: 3, record: 3 });
});

test('a reader is not confused by a record compacted under its eyes', async () => {
  const { memory, open } = setUp();
  const [leader, reader] = [open(1), open(2)];
  await leader.append(1, 'a');
  const list = memory.list.bind(memory);
  let calls = 0;
  memory.list = async (path) => {
    const names = await list(path);
    if (++calls > 1) return names;
    await leader.append(2, 'b');
    await leader.compact();
    return names;
  };
  assert.deepEqual(await reader.readNewest(), { sequence: 2, record: 'b' });
});

test('a link whose answer is lost is found out by reading', async () => {
  const { disk, open } = setUp();
  disk.inject({ operation: 'link', errno: 'EIO', answerLost: true });
  const log = open(1);
  assert.equal(await log.append(1, 'a'), 'appended');
  assert.deepEqual(await log.readNewest(), { sequence: 1, record: 'a' });
});

test('a link that fails because it is repeated by the network counts as done', async () => {
  const { disk, open } = setUp();
  disk.inject({ operation: 'link', errno: 'EEXIST', answerLost: true });
  assert.equal(await open(1).append(1, 'a'), 'appended');
});

test('a directory removed under an append is told, and is no other leader', async () => {
  const clock = new ManualClock();
  class Emptied extends MemoryFileSystem {
    override async link(from: string, to: string): Promise<void> {
      await super.link(from, to);
      for (const name of await this.list(DIRECTORY)) await this.remove(`${DIRECTORY}/${name}`);
      await this.removeDirectory(DIRECTORY);
    }
  }
  const io = { clock, fileSystem: new Emptied(), random: seededRandom(1), logger: silentLogger };
  await assert.rejects(
    runWithClock(clock, new DirectoryLog(io, DIRECTORY).append(1, 'record')),
    /nothing at \/data\/jobs\/a\/0{11}1\.record .*removed or emptied while the job runs/,
  );
});

test('a link that failed is tried again when the error may pass [R115]', async () => {
  const { disk, clock, open } = setUp();
  disk.inject({ operation: 'link', errno: 'EIO', times: 2 });
  assert.equal(await runWithClock(clock, open(1).append(1, 'a')), 'appended');
});

test('a lasting error ends an append at once, and nothing was appended [R115]', async () => {
  for (const operation of ['create', 'write', 'sync', 'link'] as const) {
    const { disk, clock, memory, open } = setUp();
    disk.inject({ operation, errno: 'ENOSPC', times: 1 });
    const log = open(1);
    await assert.rejects(log.append(1, 'a'), (error) => storageErrno(error) === 'ENOSPC');
    assert.equal(clock.pendingCount(), 0);
    assert.deepEqual(await memory.list(DIRECTORY), []);
    assert.equal(await log.append(1, 'b'), 'appended');
  }
});

test('an unknown outcome is resolved before an append settles, however long it takes', async () => {
  const { disk, clock, warnings, open } = setUp();
  disk.inject({ operation: 'link', errno: 'EIO', answerLost: true });
  disk.inject({ operation: 'readFile', errno: 'EIO', times: 10 });
  disk.inject({ operation: 'syncDirectory', path: DIRECTORY, errno: 'EIO', times: 10 });
  assert.equal(await runWithClock(clock, open(1).append(1, 'a')), 'appended');
  assert.equal(warnings.length, 20);
  assert.match(warnings[0]!, /cannot find out whether .*000000000001\.record was written; waiting/);
});

test('an outcome that is never known is not guessed when the log is closed', async () => {
  const { disk, open } = setUp();
  disk.inject({ operation: 'link', errno: 'EIO', answerLost: true });
  disk.inject({ operation: 'readFile', errno: 'EIO', times: Infinity });
  const log = open(1);
  const appending = log.append(1, 'a');
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
  log.close();
  await assert.rejects(appending, {
    details: { path: `${DIRECTORY}/000000000001.record`, outcome: 'unknown' },
  });
});

test('a damaged newest record is an error that names the file, not a step back', async () => {
  const { memory, open } = setUp();
  const log = open(1);
  await log.append(1, 'a');
  await log.append(2, 'b');
  memory.flipBit(`${DIRECTORY}/000000000002.record`, 20);
  await assert.rejects(log.readNewest(), {
    code: 'STATE_CORRUPT',
    message: /000000000002\.record is damaged: expected checksum [0-9a-f]{8}, found [0-9a-f]{8}/,
  });
  assert.equal(await open(2).append(2, 'c'), 'taken');
});

test('a torn record is damaged, wherever it ends', async () => {
  const { memory, open } = setUp();
  const log = open(1);
  await log.append(1, 'a');
  const path = `${DIRECTORY}/000000000001.record`;
  const size = (await memory.stat(path))!.sizeBytes;
  for (let length = size - 1; length >= 0; length--) {
    await memory.truncate(path, length);
    await assert.rejects(log.readNewest(), { code: 'STATE_CORRUPT' }, `${length} bytes`);
  }
});

test('damage of an older record harms nothing', async () => {
  const { memory, open } = setUp();
  const log = open(1);
  for (const sequence of [1, 2, 3]) await log.append(sequence, sequence);
  memory.flipBit(`${DIRECTORY}/000000000002.record`, 20);
  assert.deepEqual(await log.readNewest(), { sequence: 3, record: 3 });
  await open(2).compact();
});

test('temporary files of a process that died are not read as records', async () => {
  const { memory, disk, open } = setUp();
  disk.inject({ operation: 'link', errno: 'ENOSPC' });
  disk.inject({ operation: 'remove', errno: 'EIO' });
  await assert.rejects(open(1).append(1, 'a'));
  assert.match((await memory.list(DIRECTORY)).join(), /^\.append-[0-9a-f]{32}$/);
  assert.equal(await open(2).readNewest(), null);
});
