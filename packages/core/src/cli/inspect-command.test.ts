import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeyValue } from '../api/functions.ts';
import {
  broadcastState,
  listState,
  mapState,
  operatorListState,
  valueState,
} from '../api/state-descriptors.ts';
import { encodeValue } from '../base/codec/value-codec.ts';
import type { OperatorId, VertexId } from '../base/ids.ts';
import { hashKey, keyGroupOf, keyGroupRange } from '../base/key-groups.ts';
import type { SnapshotMetadata, SubtaskSnapshot } from '../protocol/snapshot.ts';
import { HeapKeyedStateBackend } from '../state/heap/heap-keyed-state-backend.ts';
import { OperatorStateBackend } from '../state/operator/operator-state-backend.ts';
import { SubtaskSnapshotWriter } from '../state/snapshot/subtask-snapshot-writer.ts';
import { createStateHandles } from '../state/state-handles.ts';
import { InternalTimers } from '../state/timers/internal-timers.ts';
import { FileCheckpointStorage } from '../storage/file-checkpoint-storage.ts';
import { dataFileName } from '../storage/snapshot-layout.ts';
import { JOB_ID, TestEnvironment } from './test-environment.ts';

const SOURCE = 'a'.repeat(32) as OperatorId;
const TOTALS = 'b'.repeat(32) as OperatorId;
const RULES = 'c'.repeat(32) as OperatorId;
const PARALLELISM = 2;
const MAX_PARALLELISM = 128;
const CHECKPOINT = `/here/checkpoints/${JOB_ID}/chk-7`;

const environment = new TestEnvironment();
const written = writeCheckpoint();

/** A checkpoint of a source, a keyed operator and one with broadcast state, in two subtasks. */
async function writeCheckpoint(): Promise<void> {
  const storage = new FileCheckpointStorage(environment, {
    directory: '/here/checkpoints',
    jobId: JOB_ID,
  });
  const location = await storage.prepareCheckpoint(7);
  const subtasks = await Promise.all([0, 1].map((index) => writeSubtask(location, index)));
  const metadata: SnapshotMetadata = {
    formatVersion: 1,
    kind: 'checkpoint',
    jobId: JOB_ID,
    jobName: 'orders',
    checkpointId: 7,
    triggeredAt: 1_700_000_000_000,
    vertices: [
      {
        vertexId: SOURCE as string as VertexId,
        name: 'Source: orders -> totals -> rules',
        parallelism: PARALLELISM,
        maxParallelism: MAX_PARALLELISM,
        operatorIds: [SOURCE, TOTALS, RULES],
        fullyFinished: false,
        subtasks,
      },
      {
        vertexId: 'd'.repeat(32) as VertexId,
        name: 'ended',
        parallelism: 1,
        maxParallelism: MAX_PARALLELISM,
        operatorIds: ['d'.repeat(32) as OperatorId],
        fullyFinished: true,
        subtasks: [],
      },
    ],
    coordinators: [{ operatorId: SOURCE, uid: 'orders', bytes: encodeValue({ next: 3 }) }],
  };
  await storage.publish(location, metadata);
}

async function writeSubtask(location: string, index: number): Promise<SubtaskSnapshot> {
  const vertexId = SOURCE as string as VertexId;
  const attempt = { epoch: 1, counter: index };
  const { fileSystem, clock } = environment;
  const writer = new SubtaskSnapshotWriter(fileSystem, clock, {
    location,
    fileName: dataFileName({ vertexId, subtask: index, attempt }),
    inlineThresholdBytes: index === 0 ? 0 : 10_000,
  });
  const none = { keyed: null, timers: null, operatorState: null };
  const splits = operatorState('orders', index);
  const list = splits.handlesFor({ splits: operatorListState<unknown>() })['splits'];
  (list as { add(value: unknown): void }).add({ path: `/in/${index}`, next: 10n });
  writer.addOperator({
    ...part(SOURCE, 'orders', 'Source: orders'),
    ...none,
    operatorState: splits,
  });
  writer.addOperator({ ...part(TOTALS, 'totals', 'Totals'), ...none, ...keyedState(index) });
  const rules = operatorState('rules', index);
  const { rule } = createStateHandles({ rule: broadcastState<string, number>() }, null, rules);
  rule.put('limit', 5);
  writer.addOperator({ ...part(RULES, null, 'Rules'), ...none, operatorState: rules });
  const { data, operators, sizeBytes } = await writer.finish(async () => undefined);
  const channels = { inputs: [], outputs: [] };
  const facts = { vertexId, subtask: index, attempt, finished: false };
  return { ...facts, ...channels, data, operators, sizeBytes };
}

function part(
  operatorId: OperatorId,
  uid: string | null,
  name: string,
): { operatorId: OperatorId; uid: string | null; name: string; type: string } {
  return { operatorId, uid, name, type: 'test' };
}

function operatorState(operatorName: string, subtask: number): OperatorStateBackend {
  return new OperatorStateBackend({ operatorName, subtask, parallelism: PARALLELISM });
}

/** Keys 0 to 9 by key group, each with its square; key 4 has a list, a map and a timer as well. */
function keyedState(subtask: number): { keyed: HeapKeyedStateBackend; timers: InternalTimers } {
  const keyGroups = keyGroupRange(MAX_PARALLELISM, PARALLELISM, subtask);
  const place = { keyGroups, maxParallelism: MAX_PARALLELISM };
  const keyed = new HeapKeyedStateBackend({ ...place, operatorName: 'Totals' });
  const timers = new InternalTimers(place);
  const declaration = {
    square: valueState<number>(),
    seen: listState<string>(),
    byDay: mapState<string, Date>(),
  };
  const state = createStateHandles(declaration, keyed, operatorState('Totals', subtask));
  const mine = (key: KeyValue): boolean => {
    const group = keyGroupOf(hashKey(key), MAX_PARALLELISM);
    return keyGroups[0] <= group && group <= keyGroups[1];
  };
  for (let key = 0; key < 10; key++) {
    if (!mine(key)) continue;
    keyed.setCurrentKey(key);
    state.square.update(key * key);
    if (key !== 4) continue;
    state.seen.add('a');
    state.seen.add('b');
    state.byDay.put('monday', new Date(0));
    timers.register('event', key, 99);
  }
  keyed.clearCurrentKey();
  return { keyed, timers };
}

async function inspect(...words: readonly string[]): Promise<readonly string[]> {
  await written;
  environment.out.text = '';
  environment.error.text = '';
  assert.equal(await environment.weir('inspect', ...words), 0, environment.error.text);
  return environment.out.lines;
}

async function refusalOf(...words: readonly string[]): Promise<string> {
  await written;
  environment.error.text = '';
  assert.notEqual(await environment.weir('inspect', ...words), 0);
  return environment.error.text;
}

test('inspect shows operators, states, keys, timers and sizes', async () => {
  const lines = await inspect(CHECKPOINT);
  const masked = lines.map((line) => line.replace(/[\d.]+ K?B/g, 'N B'));
  assert.deepEqual(masked, [
    `checkpoint 7 of job orders (${JOB_ID})`,
    `  ${CHECKPOINT}`,
    '  completed 1970-01-01T00:00:00.000Z, N B in 1 file',
    '',
    'orders  Source: orders, 2 subtasks of at most 128',
    '  splits      list, 2 items, N B',
    '  enumerator  N B',
    '',
    'totals  Totals, 2 subtasks of at most 128',
    '  keyed   10 keys, 1 timer, N B',
    '  square  value',
    '  seen    list',
    '  byDay   map',
    '',
    `${RULES} (no uid)  Rules, 2 subtasks of at most 128`,
    '  rule  broadcast, 1 item, N B',
    '',
    `${'d'.repeat(32)} (no uid)  ended, 1 subtask of at most 128`,
    '  finished: no state left',
  ]);
});

test('a checkpoint is found by folder, by _metadata, relatively and by file: URI', async () => {
  const paths = [
    `${CHECKPOINT}/_metadata`,
    `checkpoints/${JOB_ID}/chk-7`,
    `file://${CHECKPOINT}`,
    `file:${CHECKPOINT}/_metadata`,
  ];
  for (const path of paths) assert.match((await inspect(path))[0]!, /^checkpoint 7 /, path);
});

test('--json gives the same facts for machines', async () => {
  const facts = JSON.parse((await inspect('--json', CHECKPOINT)).join('\n')) as {
    checkpointId: number;
    files: number;
    operators: { uid: string; keys: number | null; states: { name: string }[] }[];
  };
  assert.deepEqual([facts.checkpointId, facts.files], [7, 1]);
  const totals = facts.operators.find(({ uid }) => uid === 'totals');
  assert.equal(totals?.keys, 10);
  assert.deepEqual(
    totals?.states.map(({ name }) => name),
    ['square', 'seen', 'byDay'],
  );
});

test('the rows of keyed state are printed by key, from all subtasks', async () => {
  const lines = await inspect(CHECKPOINT, '--state', 'totals/square');
  const rows = lines.map((line) => JSON.parse(line) as { key: number; value: number });
  rows.sort((a, b) => a.key - b.key);
  assert.deepEqual(
    rows,
    Array.from({ length: 10 }, (_, key) => ({ key, value: key * key })),
  );
});

test('list and map state, timers and the enumerator are printed too', async () => {
  assert.deepEqual(await inspect(CHECKPOINT, '--state', 'totals/seen'), [
    '{"key":4,"value":["a","b"]}',
  ]);
  assert.deepEqual(await inspect(CHECKPOINT, '--state', 'totals/byDay'), [
    '{"key":4,"value":{"$map":[["monday",{"$date":"1970-01-01T00:00:00.000Z"}]]}}',
  ]);
  assert.deepEqual(await inspect(CHECKPOINT, '--state', 'totals/timers'), [
    '{"key":4,"domain":"event","timestamp":99}',
  ]);
  assert.deepEqual(await inspect(CHECKPOINT, '--state', 'orders/enumerator'), [
    '{"value":{"next":3}}',
  ]);
});

test('source positions are printed by subtask, broadcast state once', async () => {
  assert.deepEqual(await inspect(CHECKPOINT, '--state', 'orders/splits'), [
    '{"subtask":0,"value":{"path":"/in/0","next":{"$bigint":"10"}}}',
    '{"subtask":1,"value":{"path":"/in/1","next":{"$bigint":"10"}}}',
  ]);
  for (const operator of [RULES, 'Rules'])
    assert.deepEqual(await inspect(CHECKPOINT, '--state', `${operator}/rule`), [
      '{"key":"limit","value":5}',
    ]);
});

test('a state that is not there is refused with what there is', async () => {
  assert.match(
    await refusalOf(CHECKPOINT, '--state', 'totals/sqare'),
    /"totals" has no state "sqare", it has only square, seen, byDay, timers/,
  );
  assert.match(
    await refusalOf(CHECKPOINT, '--state', 'total/square'),
    /no operator "total"; did you mean "totals"\?; it has orders, totals/,
  );
  assert.match(await refusalOf(CHECKPOINT, '--state', 'totals'), /write UID\/NAME/);
});

test('a path without a checkpoint is refused with those nearby', async () => {
  assert.match(await refusalOf('/nowhere'), /there is nothing at \/nowhere/);
  assert.match(await refusalOf('checkpoints'), /is not a snapshot/);
  assert.match(await refusalOf(), /name the folder of a checkpoint/);
  assert.match(await refusalOf(CHECKPOINT, 'more'), /one path at a time; what is "more"/);
});

test('damage is told with the file and both checksums, and has exit code 3', async () => {
  await written;
  const data = (await environment.fileSystem.list(CHECKPOINT)).find((it) => it.endsWith('.data'))!;
  const path = `${CHECKPOINT}/${data}`;
  const { sizeBytes } = (await environment.fileSystem.stat(path))!;
  for (let offset = 10; offset < sizeBytes; offset++) environment.fileSystem.flipBit(path, offset);
  environment.error.text = '';
  assert.equal(await environment.weir('inspect', CHECKPOINT, '--state', 'orders/splits'), 3);
  assert.match(environment.error.text, /\[STATE_CORRUPT\]/);
  assert(environment.error.text.includes(path));
});
