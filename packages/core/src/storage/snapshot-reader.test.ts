import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OperatorId } from '../base/ids.ts';
import type { OperatorSnapshot, Section, SnapshotMetadata } from '../protocol/snapshot.ts';
import { summarizeSnapshot } from './snapshot-reader.ts';
import { metadataOf } from './test-support.ts';

const OPERATOR_ID = 'b'.repeat(32) as OperatorId;

function section(sizeBytes: number, count: number): Section {
  return { offset: 0, sizeBytes, count, checksum: 0 };
}

function operatorPart(keyGroup: number): OperatorSnapshot {
  return {
    operatorId: OPERATOR_ID,
    uid: 'totals',
    name: 'sum per user',
    type: 'process',
    keyed: {
      keyGroups: [keyGroup, keyGroup + 1],
      states: [
        { name: 'sum', kind: 'reducing', version: 2 },
        ...(keyGroup === 0 ? [] : [{ name: 'seen', kind: 'value', version: 1 } as const]),
      ],
      blocks: [
        { ...section(100, 10), keyGroup },
        { ...section(50, 5), keyGroup },
      ],
      timers: [{ ...section(8, 2), keyGroup }],
      keyCount: 12,
    },
    operatorStates: [{ name: 'offsets', mode: 'list', items: [section(4, 1), section(6, 1)] }],
  };
}

function summary() {
  const base = metadataOf(9, [
    { kind: 'file', path: 'a.data', sizeBytes: 500, checksum: 1 },
    { kind: 'inline', bytes: new Uint8Array(20), checksum: 2 },
    null,
  ]);
  const vertex = base.vertices[0]!;
  const channel = { channelId: 3, k: 0, mark: 2, watermark: 0, idle: false, endOfData: false };
  const frames = [section(30, 1), section(40, 1)];
  const metadata: SnapshotMetadata = {
    ...base,
    vertices: [
      {
        ...vertex,
        subtasks: vertex.subtasks.map((subtask, i) => ({
          ...subtask,
          finished: i === 2,
          operators: i === 2 ? [] : [operatorPart(i * 2)],
          inputs:
            i === 0
              ? [
                  { ...channel, frames },
                  { ...channel, channelId: 4, frames: [] },
                ]
              : [],
        })),
      },
    ],
    coordinators: [{ operatorId: OPERATOR_ID, uid: 'orders', bytes: new Uint8Array(7) }],
  };
  return summarizeSnapshot({ directory: '/cp/chk-9', metadata, completedAt: 42 });
}

test('a summary names the snapshot, its job, age and size', () => {
  const { path, kind, jobName, checkpointId, completedAt, sizeBytes, coordinators } = summary();
  assert.deepEqual(
    { path, kind, jobName, checkpointId, completedAt, sizeBytes },
    {
      path: '/cp/chk-9',
      kind: 'checkpoint',
      jobName: 'totals',
      checkpointId: 9,
      completedAt: 42,
      sizeBytes: 500 + 20 + 7,
    },
  );
  assert.deepEqual(coordinators, [{ operatorId: OPERATOR_ID, uid: 'orders', sizeBytes: 7 }]);
});

test('an operator is the sum of its subtasks, with every state that any of them has', () => {
  const { operators } = summary().vertices[0]!;
  assert.deepEqual(operators, [
    {
      operatorId: OPERATOR_ID,
      uid: 'totals',
      name: 'sum per user',
      type: 'process',
      keyCount: 24,
      timerCount: 4,
      keyedSizeBytes: 2 * (100 + 50 + 8),
      keyedStates: [
        { name: 'sum', kind: 'reducing', version: 2 },
        { name: 'seen', kind: 'value', version: 1 },
      ],
      operatorStates: [{ name: 'offsets', mode: 'list', itemCount: 4, sizeBytes: 20 }],
    },
  ]);
});

test('each subtask shows its file, size, checksum, keys and what was in flight', () => {
  const { subtasks } = summary().vertices[0]!;
  assert.deepEqual(subtasks[0], {
    subtask: 0,
    finished: false,
    file: '/cp/chk-9/a.data',
    sizeBytes: 500,
    checksum: 1,
    keyCount: 12,
    keyGroups: [0, 1],
    inFlight: { frameCount: 2, sizeBytes: 70, channelIds: [3] },
  });
  const [, inline, finished] = subtasks;
  assert.deepEqual([inline!.file, inline!.sizeBytes, inline!.checksum], [null, 20, 2]);
  assert.deepEqual([finished!.finished, finished!.sizeBytes, finished!.checksum], [true, 0, null]);
});
