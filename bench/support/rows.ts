/** All rows, in the order in which they run. The row of ten minutes, if any, is the first. */
import { HEAP_ROW } from '../rows/heap.ts';
import { KAFKA_ROWS } from '../rows/kafka.ts';
import { KEYED_ROWS } from '../rows/keyed.ts';
import { LATENCY_ROW } from '../rows/latency.ts';
import { ONE_THREAD_ROWS } from '../rows/one-thread.ts';
import { POSTGRES_ROWS } from '../rows/postgres.ts';
import { PROCESS_ROWS } from '../rows/processes.ts';
import { REDIS_ROW } from '../rows/redis.ts';
import { SAVEPOINT_ROWS } from '../rows/savepoints.ts';
import { SNAPSHOT_ROWS } from '../rows/snapshots.ts';
import { WORD_COUNT_ROW } from '../rows/word-count.ts';
import type { Row } from './row.ts';

export const ROWS: readonly Row[] = [
  HEAP_ROW,
  ...ONE_THREAD_ROWS,
  ...KEYED_ROWS,
  ...SNAPSHOT_ROWS,
  LATENCY_ROW,
  ...PROCESS_ROWS,
  ...SAVEPOINT_ROWS,
  WORD_COUNT_ROW,
  ...KAFKA_ROWS,
  ...POSTGRES_ROWS,
  REDIS_ROW,
];
