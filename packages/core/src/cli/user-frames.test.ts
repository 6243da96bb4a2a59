import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFrames, userFrames } from './user-frames.ts';

const STACK = `RangeError: too much
  (a message of two lines)
    at Object.map (/home/u/my job.ts:5:24)
    at async run (file:///home/u/lib/a%20b.ts:7:1)
    at async file:///home/u/top.ts:2:3
    at /home/u/node_modules/zod/index.js:1:1
    at MapOperator.processElement (/engine/taskmanager/map.ts:10:24)
    at process.processTicksAndRejections (node:internal/process/task_queues:104:5)
    at Array.map (<anonymous>)
    at new Thing (/home/u/thing.ts:1:2)`;

test('frames are read with function, file, line and column', () => {
  assert.deepEqual(parseFrames(STACK)[0], {
    functionName: 'map',
    file: '/home/u/my job.ts',
    line: 5,
    column: 24,
  });
});

test('only frames of the user are left, innermost first', () => {
  const places = userFrames(STACK, ['/engine/']).map(
    ({ functionName, file, line }) => `${functionName ?? '-'} ${file}:${line}`,
  );
  assert.deepEqual(places, [
    'map /home/u/my job.ts:5',
    'run /home/u/lib/a b.ts:7',
    '- /home/u/top.ts:2',
    'new Thing /home/u/thing.ts:1',
  ]);
});

test('what is no stack trace has no frames', () => {
  assert.deepEqual(parseFrames('just a text: with 1:2 numbers'), []);
});
