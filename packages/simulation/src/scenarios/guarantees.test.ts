/**
 * The matrix of guarantees: in every cell of {source} × {mode} × {operator} × {sink} kills show
 * exactly the level that the planner computes. A level that is merely safe is a fault as well: an
 * at-least-once cell must show a duplicate in some schedule, an at-most-once cell a loss.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CELL_GROUPS } from '../guarantees/cell.ts';
import { guaranteeTable, levelOf, TABLE_BEGIN, TABLE_END } from '../guarantees/guarantee-table.ts';
import { CELL_SEEDS, runCells } from '../guarantees/run-cells.ts';
import type { CellResult } from '../guarantees/run-cells.ts';

const PAGE = new URL('../../../../docs/guide/guarantees.md', import.meta.url);
const results: CellResult[] = [];

for (const group of CELL_GROUPS) {
  const { source, mode, operator } = group;
  test(`source ${source} · ${mode} · ${operator}: seven sinks show just their levels`, async () => {
    const cells = await runCells(group, CELL_SEEDS);
    results.push(...cells);
    assert.deepEqual(
      cells.map(({ sink, seen }) => [sink, levelOf(seen)]),
      cells.map(({ sink, level }) => [sink, level]),
    );
  });
}

test('the table of the guide is what was seen', () => {
  const page = readFileSync(PAGE, 'utf8');
  const [from, to] = [page.indexOf(TABLE_BEGIN), page.indexOf(TABLE_END)];
  assert.ok(from > 0 && to > from, 'the page has no place for the table');
  const shown = page.slice(from, to + TABLE_END.length);
  assert.equal(shown, guaranteeTable(results), 'npm run guarantees brings it in step');
});
