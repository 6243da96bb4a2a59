import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from '../base/codec/crc32.ts';
import { ManualClock } from '../base/clock.ts';
import { FaultyFileSystem } from './faulty-file-system.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import { openSnapshotData } from './snapshot-data-reader.ts';
import {
  MEMORY_STATE_BYTES_MAX,
  type SnapshotDataSink,
  writeSnapshotData,
} from './snapshot-data-writer.ts';
import { memoryLocation } from './snapshot-layout.ts';
import { storageErrno } from './storage-error.ts';
import { filesBelow, runWithClock } from './test-support.ts';

const target = { location: '/chk-1', fileName: 'a.data', inlineBytesMax: 10 };

async function setUp(): Promise<{
  clock: ManualClock;
  memory: MemoryFileSystem;
  fileSystem: FaultyFileSystem;
}> {
  const clock = new ManualClock();
  const memory = new MemoryFileSystem();
  await memory.makeDirectory('/chk-1');
  return { clock, memory, fileSystem: new FaultyFileSystem(clock, memory) };
}

function produce(...texts: readonly string[]): (sink: SnapshotDataSink) => Promise<void> {
  return async (sink) => {
    for (const text of texts) await sink.write(Buffer.from(text));
  };
}

test('no data is no handle, and no file', async () => {
  const io = await setUp();
  assert.equal(await writeSnapshotData(io, target, produce()), null);
  assert.deepEqual(await io.memory.list('/chk-1'), []);
});

test('data up to the threshold stands inline, one byte more in a file', async () => {
  const io = await setUp();
  const small = await writeSnapshotData(io, target, produce('12345', '67890'));
  const expected = Buffer.from('1234567890');
  assert.deepEqual(small, {
    kind: 'inline',
    bytes: new Uint8Array(expected),
    checksum: crc32(expected),
  });
  assert.deepEqual(await io.memory.list('/chk-1'), []);

  const large = await writeSnapshotData(io, target, produce('12345', '678901'));
  const checksum = crc32(Buffer.from('12345678901'));
  assert.deepEqual(large, { kind: 'file', path: 'a.data', sizeBytes: 11, checksum });
});

test('sections of any size come back as written', async () => {
  const io = await setUp();
  const pieces = [10, 70_000, 0, 3, 65_536, 130_000].map((size, i) => Buffer.alloc(size, i + 1));
  const offsets: number[] = [];
  const handle = await writeSnapshotData(io, target, async (sink) => {
    for (const piece of pieces) {
      offsets.push(sink.offset);
      await sink.write(piece);
    }
  });
  const reader = await openSnapshotData(io, '/chk-1', handle!);
  for (const [i, piece] of pieces.entries()) {
    const section = { offset: offsets[i]!, sizeBytes: piece.length, checksum: crc32(piece) };
    assert.deepEqual(Buffer.from(await reader.read(section)), piece);
  }
  await reader.close();
});

test('a buffer that is used again does not change what was written', async () => {
  const io = await setUp();
  const scratch = Buffer.from('abc');
  const handle = await writeSnapshotData(io, target, async (sink) => {
    await sink.write(scratch);
    scratch.fill('x');
    await sink.write(scratch);
  });
  assert.deepEqual(handle?.kind === 'inline' && Buffer.from(handle.bytes).toString(), 'abcxxx');
});

test('the bytes are durable before the handle is handed over', async () => {
  const io = await setUp();
  await writeSnapshotData(io, target, produce('more than ten'));
  await io.memory.syncDirectory('/');
  await io.memory.syncDirectory('/chk-1');
  io.memory.crash();
  assert.equal((await io.memory.stat('/chk-1/a.data'))?.sizeBytes, 13);
});

test('an error that passes is outlived: the data are produced again [R115]', async () => {
  const io = await setUp();
  io.fileSystem.inject({ operation: 'write', times: 2, errno: 'EIO' });
  let runs = 0;
  const handle = await runWithClock(
    io.clock,
    writeSnapshotData(io, target, async (sink) => {
      runs += 1;
      await sink.write(Buffer.from('more than ten'));
    }),
  );
  assert.equal(runs, 3);
  assert.equal(handle?.kind, 'file');
  assert.equal(Buffer.from(await io.memory.readFile('/chk-1/a.data')).toString(), 'more than ten');
});

test('a lasting error ends at once, with path and errno, and leaves nothing [R115]', async () => {
  for (const errno of ['ENOSPC', 'EACCES', 'EROFS']) {
    const io = await setUp();
    io.fileSystem.inject({ operation: 'write', times: Infinity, errno });
    await assert.rejects(writeSnapshotData(io, target, produce('more than ten')), (error) => {
      assert.equal(storageErrno(error), errno);
      assert.match(String(error), /\/chk-1\/a\.data/);
      return true;
    });
    assert.deepEqual(await filesBelow(io.memory, '/chk-1'), []);
    assert.equal(io.clock.pendingCount(), 0);
  }
});

test('an error of the producer is passed on and leaves nothing', async () => {
  const io = await setUp();
  const failing = async (sink: SnapshotDataSink): Promise<void> => {
    await sink.write(Buffer.alloc(100_000));
    throw new RangeError('no');
  };
  await assert.rejects(writeSnapshotData(io, target, failing), RangeError);
  assert.deepEqual(await filesBelow(io.memory, '/chk-1'), []);
});

test('on the JobManager all state is inline, up to its limit', async () => {
  const io = await setUp();
  const inMemory = { ...target, location: memoryLocation(1) };
  const fits = Buffer.alloc(MEMORY_STATE_BYTES_MAX / 2);
  const twice = async (sink: SnapshotDataSink): Promise<void> => {
    await sink.write(fits);
    await sink.write(fits);
  };
  const handle = await writeSnapshotData(io, inMemory, twice);
  assert.equal(handle?.kind === 'inline' && handle.bytes.byteLength, MEMORY_STATE_BYTES_MAX);
  const more = async (sink: SnapshotDataSink): Promise<void> => {
    await twice(sink);
    await sink.write(Buffer.from('x'));
  };
  await assert.rejects(writeSnapshotData(io, inMemory, more), {
    kind: 'declined',
    message: /set execution\.checkpointing\.storage: filesystem/,
  });
});

test('a damaged section names the file and both checksums [R011]', async () => {
  const io = await setUp();
  const handle = await writeSnapshotData(io, target, produce('good section', 'bad section'));
  io.memory.flipBit('/chk-1/a.data', 14);
  const reader = await openSnapshotData(io, '/chk-1', handle!);
  const good = { offset: 0, sizeBytes: 12, checksum: crc32(Buffer.from('good section')) };
  await reader.read(good);
  const bad = { offset: 12, sizeBytes: 11, checksum: crc32(Buffer.from('bad section')) };
  await assert.rejects(reader.read(bad), {
    code: 'STATE_CORRUPT',
    message: /\/chk-1\/a\.data is damaged in bytes 12 to 23: expected checksum [0-9a-f]{8}, found/,
  });
});

test('a file of another size is refused before anything is read', async () => {
  const io = await setUp();
  const handle = await writeSnapshotData(io, target, produce('more than ten'));
  await io.memory.truncate('/chk-1/a.data', 12);
  await assert.rejects(openSnapshotData(io, '/chk-1', handle!), {
    code: 'STATE_CORRUPT',
    message: /\/chk-1\/a\.data is damaged: it should have 13 bytes, but has 12/,
  });
});

test('a section that ends beyond the data is damage, whether inline or in a file', async () => {
  const io = await setUp();
  for (const text of ['short', 'more than ten']) {
    const handle = await writeSnapshotData(io, target, produce(text));
    const reader = await openSnapshotData(io, '/chk-1', handle!);
    await assert.rejects(reader.read({ offset: 3, sizeBytes: 20 }), {
      code: 'STATE_CORRUPT',
      message: new RegExp(`should have 23 bytes, but has ${text.length};`),
    });
  }
});

test('inline state is checked too', async () => {
  const io = await setUp();
  const handle = { kind: 'inline', bytes: new Uint8Array([1]), checksum: 5 } as const;
  await assert.rejects(openSnapshotData(io, '/chk-1', handle), {
    code: 'STATE_CORRUPT',
    message: /\/chk-1\/_metadata is damaged \(inline state\)/,
  });
});

test('reading outlives an error that passes [R115]', async () => {
  const io = await setUp();
  const handle = await writeSnapshotData(io, target, produce('more than ten'));
  io.fileSystem.inject({ operation: 'openForRead', times: 2, errno: 'EIO' });
  io.fileSystem.inject({ operation: 'read', times: 2, errno: 'ESTALE' });
  const reader = await runWithClock(io.clock, openSnapshotData(io, '/chk-1', handle!));
  const bytes = await runWithClock(io.clock, reader.read({ offset: 5, sizeBytes: 4 }));
  assert.equal(Buffer.from(bytes).toString(), 'than');
});
