import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InputChannelSnapshot, OutputChannelSnapshot, Section } from '../snapshot.ts';
import { findBrokenChannel } from './channel-cut.ts';
import type { CheckpointingMode } from './checkpoint-config.ts';
import { JobTopology } from './job-topology.ts';
import { jobGraphOf, PIPELINE, snapshotOf, vertexIdOf } from './test-support.ts';

const TOPOLOGY = new JobTopology(jobGraphOf(PIPELINE));
const SOURCE = { vertexId: vertexIdOf('a'), subtask: 0, attempt: { epoch: 1, counter: 1 } };
const TARGET = { ...SOURCE, vertexId: vertexIdOf('b') };

function frames(count: number): Section[] {
  return count === 0 ? [] : [{ offset: 0, sizeBytes: count, count, checksum: 0 }];
}

/** `input`: k, mark, frames kept; `output`: mark, e, frames kept. */
function fault(
  input: readonly [number, number, number] | null,
  output: readonly [number, number, number] | null,
  mode: CheckpointingMode = 'EXACTLY_ONCE',
): string | null {
  const inputs: InputChannelSnapshot[] = [];
  const outputs: OutputChannelSnapshot[] = [];
  const valve = { watermark: 0, idle: false, endOfData: false };
  if (input !== null) {
    const [k, mark, kept] = input;
    inputs.push({ channelId: 0, k, mark, ...valve, frames: frames(kept) });
  }
  if (output !== null) {
    const [mark, e, kept] = output;
    outputs.push({ channelId: 0, mark, e, frames: frames(kept) });
  }
  const snapshots = [snapshotOf(SOURCE, { outputs }), snapshotOf(TARGET, { inputs })];
  return findBrokenChannel(TOPOLOGY, snapshots, mode);
}

test('an aligned cut has k = m = e', () => {
  assert.equal(fault([5, 5, 0], [5, 5, 0]), null);
});

test('frames between k, m and e must be kept', () => {
  assert.equal(fault([3, 5, 2], [5, 9, 4]), null);
  assert.match(fault([3, 5, 1], [5, 5, 0]) ?? '', /consumed to 3 and 1 frames kept/);
  assert.match(fault([5, 5, 0], [5, 9, 3]) ?? '', /produced to 9 and 3 frames kept/);
});

test('both ends must name the same mark, and the message names both', () => {
  assert.equal(
    fault([4, 4, 0], [5, 5, 0]),
    'channel 0 from "a" (subtask 0 of 1) to "b" (subtask 0 of 1): ' +
      'its barrier stands at 5 for one end, at 4 for the other',
  );
});

test('a channel described by one end alone is broken', () => {
  assert.match(fault(null, [5, 5, 0]) ?? '', /only the producer/);
  assert.match(fault([5, 5, 0], null) ?? '', /only the consumer/);
  assert.equal(fault(null, null), null);
});

test('only a task that counts barriers may have read past the mark', () => {
  assert.match(fault([7, 5, 0], [5, 5, 0]) ?? '', /consumed to 7/);
  assert.equal(fault([7, 5, 0], [5, 5, 0], 'AT_LEAST_ONCE'), null);
});

test('a channel whose producer finished before is not looked at', () => {
  const inputs = [
    { channelId: 0, k: 3, mark: 9, watermark: 0, idle: false, endOfData: true, frames: [] },
  ];
  const snapshots = [snapshotOf(TARGET, { inputs })];
  assert.equal(findBrokenChannel(TOPOLOGY, snapshots, 'EXACTLY_ONCE'), null);
});
