import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { operatorListState, valueState } from '../../api/state-descriptors.ts';
import { crc32 } from '../../base/codec/crc32.ts';
import { ManualClock } from '../../base/clock.ts';
import { CancelledError } from '../../base/errors.ts';
import type { FileSystem } from '../../base/file-system.ts';
import type { Section, StateHandle } from '../../protocol/snapshot.ts';
import { FaultyFileSystem } from '../../storage/faulty-file-system.ts';
import { MemoryFileSystem } from '../../storage/memory-file-system.ts';
import { runWithClock } from '../../storage/test-support.ts';
import { createStateHandles } from '../state-handles.ts';
import { OperatorStateBackend } from '../operator/operator-state-backend.ts';
import type { KeyedSubtask } from '../test-support.ts';
import { OPERATOR_ID, keyedSubtask } from '../test-support.ts';
import { restoreKeyed, restoreOperatorState, restoreTimers } from './restore.ts';
import type { SnapshotEnvironment } from './state-data-reader.ts';
import { StateDataReader } from './state-data-reader.ts';
import type { OperatorToSnapshot, WrittenSnapshot } from './subtask-snapshot-writer.ts';
import { SubtaskSnapshotWriter } from './subtask-snapshot-writer.ts';

const LOCATION = '/data/chk-1';
const FILE_NAME = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-0-1-1.data';
const PATH = `${LOCATION}/${FILE_NAME}`;
const DECLARATION = { total: valueState<unknown>({ default: undefined }) };
type Subtask = KeyedSubtask<typeof DECLARATION>;

const yieldNothing = (): Promise<void> => Promise.resolve();

interface World {
  readonly disk: MemoryFileSystem;
  readonly fileSystem: FaultyFileSystem;
  readonly clock: ManualClock;
}

async function newWorld(): Promise<World> {
  const disk = new MemoryFileSystem();
  const clock = new ManualClock();
  await disk.makeDirectory(LOCATION);
  await disk.syncDirectory('/');
  await disk.syncDirectory('/data');
  return { disk, fileSystem: new FaultyFileSystem(clock, disk), clock };
}

function environment(world: World, fileSystem: FileSystem = world.fileSystem): SnapshotEnvironment {
  return { fileSystem, clock: world.clock, directory: LOCATION };
}

function newWriter(
  { fileSystem, clock }: World,
  options: { readonly inlineThresholdBytes?: number; readonly location?: string } = {},
): SubtaskSnapshotWriter {
  const defaults = { location: LOCATION, fileName: FILE_NAME, inlineThresholdBytes: 100 };
  return new SubtaskSnapshotWriter(fileSystem, clock, { ...defaults, ...options });
}

function subtaskWithKeys(count: number, valueBytes = 10): Subtask {
  const subtask = keyedSubtask(DECLARATION);
  for (let key = 0; key < count; key++) {
    subtask.backend.setCurrentKey(key);
    subtask.state.total.update(`${key}`.padEnd(valueBytes, '.'));
  }
  return subtask;
}

function toSnapshot(subtask: Subtask | null): OperatorToSnapshot {
  return {
    operatorId: OPERATOR_ID,
    uid: null,
    name: 'totals',
    type: 'keyed-process',
    keyed: subtask?.backend ?? null,
    timers: subtask?.timers ?? null,
    operatorState: null,
  };
}

async function restored(env: SnapshotEnvironment, written: WrittenSnapshot): Promise<Subtask> {
  const fresh = keyedSubtask(DECLARATION);
  const parts = [{ data: written.data!, snapshot: written.operators[0]! }];
  await restoreKeyed(env, fresh.backend, parts);
  await restoreTimers(env, fresh.timers, parts);
  return fresh;
}

test('state up to the threshold travels inline and makes no file', async () => {
  const world = await newWorld();
  const writer = newWriter(world, { inlineThresholdBytes: 20_000 });
  writer.addOperator(toSnapshot(subtaskWithKeys(10)));
  const written = await writer.finish(yieldNothing);
  strictEqual(written.data?.kind, 'inline');
  strictEqual(written.data.bytes.length, written.sizeBytes);
  deepStrictEqual(await world.disk.list(LOCATION), []);
  strictEqual((await restored(environment(world), written)).backend.keyCount, 10);
});

test('without any state there are no data, but the declared states are named [R061]', async () => {
  const writer = newWriter(await newWorld());
  writer.addOperator(toSnapshot(subtaskWithKeys(0)));
  writer.addOperator({ ...toSnapshot(null), name: 'map' });
  const { data, operators, sizeBytes } = await writer.finish(yieldNothing);
  deepStrictEqual([data, sizeBytes], [null, 0]);
  const total = { name: 'total', kind: 'value', version: 1, shape: '"undefined"' };
  deepStrictEqual(operators[0]?.keyed?.states, [total]);
  strictEqual(operators[1]?.keyed, null);
});

test('more state is a file that survives a power failure once it is finished', async () => {
  const world = await newWorld();
  const writer = newWriter(world);
  const subtask = subtaskWithKeys(200);
  subtask.timers.register('event', 5, 77);
  writer.addOperator(toSnapshot(subtask));
  const written = await writer.finish(yieldNothing);
  world.disk.crash();
  const bytes = await world.disk.readFile(PATH);
  deepStrictEqual(written.data, {
    kind: 'file',
    path: FILE_NAME,
    sizeBytes: bytes.length,
    checksum: crc32(bytes),
  });
  const fresh = await restored(environment(world), written);
  strictEqual(fresh.backend.keyCount, 200);
  strictEqual(fresh.timers.size, 1);
});

test('all operators of a subtask share one file, in-flight frames included', async () => {
  const world = await newWorld();
  const writer = newWriter(world);
  const operatorState = new OperatorStateBackend({
    operatorName: 'reader',
    subtask: 0,
    parallelism: 1,
  });
  const declaration = { offsets: operatorListState<number>() };
  createStateHandles(declaration, null, operatorState).offsets.addAll([3, 4]);
  writer.addOperator({ ...toSnapshot(null), name: 'reader', operatorState });
  writer.addOperator(toSnapshot(subtaskWithKeys(20)));
  const frames = writer.append(Buffer.from('frame'), 1);
  await writer.writeKeyedState(yieldNothing);
  const later = writer.append(Buffer.from('later'), 2);
  const { data, operators } = await writer.finish(yieldNothing);

  const reader = await StateDataReader.open(environment(world), data!);
  const read = async (section: Section): Promise<string> =>
    Buffer.from(await reader.read(section, 'frames')).toString();
  strictEqual(await read(frames), 'frame');
  strictEqual(await read(later), 'later');
  await reader.close();

  const [stored] = operators[0]!.operatorStates;
  const fresh = new OperatorStateBackend({ operatorName: 'reader', subtask: 0, parallelism: 1 });
  const { offsets } = createStateHandles(declaration, null, fresh);
  const items = stored!.items.map((section) => ({ data: data!, section }));
  await restoreOperatorState(environment(world), fresh, [{ ...stored!, items }]);
  deepStrictEqual(offsets.get(), [3, 4]);
});

test('records go on between slices without changing the snapshot', async () => {
  const world = await newWorld();
  const writer = newWriter(world);
  const subtask = subtaskWithKeys(5000);
  writer.addOperator(toSnapshot(subtask));
  let slices = 0;
  const written = await writer.finish(async () => {
    for (let key = slices; key < 6000; key += 7) {
      subtask.backend.setCurrentKey(key);
      if (key % 2 === 0) subtask.state.total.update('changed');
      else subtask.state.total.clear();
    }
    slices++;
  });
  ok(slices >= 5, `${slices} slices`);
  const fresh = await restored(environment(world), written);
  strictEqual(fresh.backend.keyCount, 5000);
  for (let key = 0; key < 5000; key++) {
    fresh.backend.setCurrentKey(key);
    strictEqual(fresh.state.total.value, `${key}`.padEnd(10, '.'));
  }
});

test('large state is written while it is walked, and taken away when cancelled', async () => {
  const world = await newWorld();
  const subtask = subtaskWithKeys(100, 60_000);
  const writer = newWriter(world);
  writer.addOperator(toSnapshot(subtask));
  await writer.writeKeyedState(yieldNothing);
  const size = (await world.disk.stat(PATH))!.sizeBytes;
  ok(size > 4_000_000, `${size} bytes are written`);
  await writer.cancel();
  strictEqual(await world.disk.stat(PATH), null);

  const next = newWriter(world);
  next.addOperator(toSnapshot(subtask));
  const written = await next.finish(yieldNothing);
  world.disk.crash();
  strictEqual((await restored(environment(world), written)).backend.keyCount, 100);
});

test('after cancel nothing is written any more, and the state is let go', async () => {
  const world = await newWorld();
  const subtask = subtaskWithKeys(3000);
  const writer = newWriter(world);
  writer.addOperator(toSnapshot(subtask));
  const cancelling: Promise<void>[] = [];
  const finishing = writer.finish(async () => {
    cancelling.push(writer.cancel());
  });
  await rejects(finishing, CancelledError);
  await Promise.all(cancelling);
  await writer.cancel();
  await rejects(writer.finish(yieldNothing), CancelledError);
  deepStrictEqual(await world.disk.list(LOCATION), []);
  subtask.backend.setCurrentKey(1);
  subtask.state.total.update('still works');
});

test('cancelling what is finished leaves the file: somebody may have it already', async () => {
  const world = await newWorld();
  const writer = newWriter(world);
  writer.addOperator(toSnapshot(subtaskWithKeys(50)));
  await writer.finish(yieldNothing);
  await writer.cancel();
  ok((await world.disk.stat(PATH)) !== null);
});

test('where checkpoints stay in memory of the JobManager, all state travels inline', async () => {
  const world = await newWorld();
  const writer = newWriter(world, { location: 'jobmanager:chk-1' });
  writer.addOperator(toSnapshot(subtaskWithKeys(70, 60_000)));
  const { data, sizeBytes } = await writer.finish(yieldNothing);
  strictEqual(data?.kind, 'inline');
  ok(sizeBytes > 4_000_000);
});

for (const operation of ['create', 'write', 'sync'] as const)
  test(`storage that fails twice at ${operation} costs no checkpoint [R115]`, async () => {
    const world = await newWorld();
    world.fileSystem.inject({ operation, errno: 'EIO', times: 2 });
    const writer = newWriter(world);
    writer.addOperator(toSnapshot(subtaskWithKeys(50)));
    const written = await runWithClock(world.clock, writer.finish(yieldNothing));
    strictEqual((await restored(environment(world), written)).backend.keyCount, 50);
  });

for (const operation of ['openForRead', 'read', 'sizeBytes'] as const)
  test(`storage that fails twice at ${operation} costs no restore [R115]`, async () => {
    const world = await newWorld();
    const writer = newWriter(world);
    writer.addOperator(toSnapshot(subtaskWithKeys(50)));
    const written = await writer.finish(yieldNothing);
    world.fileSystem.inject({ operation, errno: 'EIO', times: 2 });
    const fresh = await runWithClock(world.clock, restored(environment(world), written));
    strictEqual(fresh.backend.keyCount, 50);
  });

test('a permanent failure of storage is told at once, with path and errno [R115]', async () => {
  const world = await newWorld();
  world.fileSystem.inject({ operation: 'create', errno: 'EACCES', times: 9 });
  const writer = newWriter(world);
  writer.addOperator(toSnapshot(subtaskWithKeys(50)));
  await rejects(writer.finish(yieldNothing), (error: unknown) => {
    const { details } = error as { details: Record<string, unknown> };
    deepStrictEqual([details['path'], details['errno']], [PATH, 'EACCES']);
    return true;
  });
  await writer.cancel();
});

/** The world after a snapshot of 300 keys, one bit of which is turned round. */
async function damaged(offset: (section: Section) => number): Promise<{
  readonly env: SnapshotEnvironment;
  readonly part: { readonly data: StateHandle; readonly snapshot: WrittenSnapshot['operators'][0] };
  readonly section: Section & { readonly keyGroup: number };
}> {
  const world = await newWorld();
  const writer = newWriter(world);
  writer.addOperator(toSnapshot(subtaskWithKeys(300)));
  const written = await writer.finish(yieldNothing);
  const snapshot = written.operators[0]!;
  const section = snapshot.keyed!.blocks[40]!;
  world.disk.flipBit(PATH, offset(section));
  return { env: environment(world), part: { data: written.data!, snapshot }, section };
}

test('any flipped bit is found: the error names file, section and both checksums', async () => {
  for (const place of [0, 1, -1]) {
    const { env, part, section } = await damaged(({ offset, sizeBytes }) =>
      place < 0 ? offset + sizeBytes - 1 : offset + place,
    );
    const fresh = keyedSubtask(DECLARATION);
    const bytes = `${section.sizeBytes} bytes at ${section.offset}`;
    const where = `keyed state of "totals", key group ${section.keyGroup} \\(${bytes}\\)`;
    await rejects(restoreKeyed(env, fresh.backend, [part]), {
      code: 'STATE_CORRUPT',
      message: new RegExp(`${PATH} is damaged in ${where}: expected checksum`),
    });
  }
});

test('damage in key groups of others does not keep a subtask from restoring its own', async () => {
  const { env, part, section } = await damaged(({ offset }) => offset);
  let failures = 0;
  for (let subtask = 0; subtask < 4; subtask++) {
    const fresh = keyedSubtask(DECLARATION, { parallelism: 4, subtask });
    const [first, last] = fresh.backend.keyGroups;
    const isHit = first <= section.keyGroup && section.keyGroup <= last;
    const restoring = restoreKeyed(env, fresh.backend, [part]);
    if (isHit) await rejects(restoring, { code: 'STATE_CORRUPT' });
    else await restoring;
    if (isHit) failures++;
  }
  strictEqual(failures, 1);
});

test('a file that was cut off is refused before anything of it is used', async () => {
  const world = await newWorld();
  const writer = newWriter(world);
  writer.addOperator(toSnapshot(subtaskWithKeys(300)));
  const written = await writer.finish(yieldNothing);
  await world.disk.truncate(PATH, 1000);
  await rejects(restored(environment(world), written), {
    code: 'STATE_CORRUPT',
    message: /is damaged: it should have \d+ bytes, but has 1000/,
  });
});

test('a snapshot restored with another maximum parallelism is refused', async () => {
  const world = await newWorld();
  const writer = newWriter(world);
  writer.addOperator(toSnapshot(subtaskWithKeys(30)));
  const written = await writer.finish(yieldNothing);
  const fresh = keyedSubtask(DECLARATION, { maxParallelism: 256 });
  const parts = [{ data: written.data!, snapshot: written.operators[0]! }];
  await rejects(restoreKeyed(environment(world), fresh.backend, parts), {
    code: 'STATE_CORRUPT',
    message: /is stored in key group \d+ and belongs to \d+ of 256/,
  });
});
