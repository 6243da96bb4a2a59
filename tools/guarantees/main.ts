/**
 * `npm run guarantees`: runs every cell of the matrix of guarantees in the simulation, tells where
 * what is seen is not what the planner computes, and writes the table of docs/guide/guarantees.md.
 * Exit code 1 if a cell shows another level than its own.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { CELL_GROUPS } from '../../packages/simulation/src/guarantees/cell.ts';
import {
  guaranteeTable,
  levelOf,
  TABLE_BEGIN,
  TABLE_END,
} from '../../packages/simulation/src/guarantees/guarantee-table.ts';
import { CELL_SEEDS, runCells } from '../../packages/simulation/src/guarantees/run-cells.ts';
import type { CellResult } from '../../packages/simulation/src/guarantees/run-cells.ts';

const PAGE = new URL('../../docs/guide/guarantees.md', import.meta.url);

const results: CellResult[] = [];
for (const group of CELL_GROUPS) results.push(...(await runCells(group, CELL_SEEDS)));
for (const { source, mode, operator, sink, level, seen } of results)
  if (levelOf(seen) !== level) {
    console.log(`${source} · ${mode} · ${operator} · ${sink}: ${levelOf(seen)}, not ${level}`);
    process.exitCode = 1;
  }
const page = readFileSync(PAGE, 'utf8');
const [from, to] = [page.indexOf(TABLE_BEGIN), page.indexOf(TABLE_END) + TABLE_END.length];
writeFileSync(PAGE, `${page.slice(0, from)}${guaranteeTable(results)}${page.slice(to)}`);
console.log(`${results.length} cells, ${CELL_SEEDS.length} schedules each`);
