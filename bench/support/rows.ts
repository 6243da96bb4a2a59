/** All rows, in the order of the table. */
import { KEYED_ROWS } from '../rows/keyed.ts';
import { ONE_THREAD_ROWS } from '../rows/one-thread.ts';
import type { Row } from './row.ts';

const [chain, ...others] = ONE_THREAD_ROWS;

export const ROWS: readonly Row[] = [
  ...(chain === undefined ? [] : [chain]),
  ...KEYED_ROWS,
  ...others,
];
