import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STARTED } from '../test-environment.ts';
import { PLAIN_STYLE, styleFor } from '../text/style.ts';
import { displayWidth } from '../text/width.ts';
import { liveBlock } from './live-block.ts';
import { someProgress, vertex } from './report-fixtures.ts';
import { RunProgress } from './run-progress.ts';

const SPACE = { columns: 100, rows: 24, now: 65_000, style: PLAIN_STYLE };

test('the block shows status, vertices with rates and bars, and the newest checkpoint', () => {
  assert.deepEqual(liveBlock(someProgress(), SPACE), [
    'order-totals  running  1 min 5 s',
    '  Source: orders -> Map  x2  12.3k/s  1,234,567  [######==..] 60 %',
    '  totals                 x2    950/s  1,200,950  [##........] 24 %  late 7',
    '  checkpoint 12: 3.0 s ago, took 45 ms, 1.20 MB',
  ]);
});

test('restarts and failed checkpoints are told', () => {
  const progress = someProgress();
  progress.restarts = 2;
  progress.failedCheckpoints = 1;
  const lines = liveBlock(progress, SPACE);
  assert.equal(lines[0], 'order-totals  running  1 min 5 s  2 restarts');
  assert.match(lines.at(-1)!, /1\.20 MB, 1 failed$/);
});

test('a narrow terminal loses the bars, then shortens names', () => {
  assert.deepEqual(liveBlock(someProgress(), { ...SPACE, columns: 52 }), [
    'order-totals  running  1 min 5 s',
    '  Source: orders -> Map  x2  12.3k/s  1,234,567',
    '  totals                 x2    950/s  1,200,950',
    '  checkpoint 12: 3.0 s ago, took 45 ms, 1.20 MB',
  ]);
  assert.deepEqual(liveBlock(someProgress(), { ...SPACE, columns: 30 }), [
    'order-totals  running  1 min…',
    '  So…  x2  12.3k/s  1,234,567',
    '  to…  x2    950/s  1,200,950',
    '  checkpoint 12: 3.0 s ago, …',
  ]);
});

test('no line is as wide as the terminal, whatever its width and the names', () => {
  const progress = someProgress();
  const wide = vertex({ name: '日本語の長い名前 👍 and more', recordsIn: 5, busy: 1 });
  progress.apply({ type: 'progress', vertices: [wide, wide], tasks: [] }, 66_000);
  for (const style of [PLAIN_STYLE, styleFor(true, { LANG: 'C.UTF-8' })])
    for (let columns = 1; columns < 120; columns++)
      for (const line of liveBlock(progress, { ...SPACE, style, columns }))
        assert(displayWidth(line) < Math.max(2, columns), `${columns}: ${line}`);
});

test('a block never fills the height: further vertices are counted', () => {
  const progress = new RunProgress(0);
  const vertices = Array.from({ length: 30 }, (_, index) => vertex({ name: `v${index}` }));
  progress.apply({ type: 'progress', vertices, tasks: [] }, 1000);
  const lines = liveBlock(progress, { ...SPACE, rows: 10 });
  assert.equal(lines.length, 9);
  assert.equal(lines.at(-2), '  … and 24 more');
  assert.match(lines.at(-3)!, /^ {2}v5 /);
});

test('before the first checkpoint the block says that there is none', () => {
  const progress = new RunProgress(0);
  progress.apply(STARTED, 0);
  assert.deepEqual(liveBlock(progress, { ...SPACE, now: 500 }), [
    'orders  created  500 ms',
    '  no checkpoint yet',
  ]);
});
