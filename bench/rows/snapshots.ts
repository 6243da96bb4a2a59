/**
 * What snapshots of a million keys do to the thread that goes on processing: the longest slice of
 * work without a pause, and how much longer the slowest batches take. The state backend is driven
 * as a task drives it: a batch of records, then a slice of the snapshot, which goes to disk. Times
 * are CPU times of the thread, so that what else runs on the machine does not count.
 */
import { valueState } from '@weir/core';
import type { ValueState } from '@weir/core';
import { realClock } from '@weir/core/internal/cluster/real-clock';
import { HeapKeyedStateBackend } from '@weir/core/internal/state/heap/heap-keyed-state-backend';
import { SubtaskSnapshotWriter } from '@weir/core/internal/state/snapshot/subtask-snapshot-writer';
import { LocalFileSystem } from '@weir/core/internal/storage/local-file-system';
import { withFolder } from '../support/compare.ts';
import type { Measured, Row } from '../support/row.ts';
import { percentile } from '../support/row.ts';

const KEYS = 1_000_000;
const BATCH = 1000;
const BATCHES = 4000;
const MAX_PARALLELISM = 128;

const TICK_MS = 4;

/** Starts to measure; the function gives the milliseconds since. */
function stopwatch(): () => number {
  const cpu = process.threadCpuUsage();
  const began = performance.now();
  return () => {
    const ms = performance.now() - began;
    const { user, system } = process.threadCpuUsage(cpu);
    return Math.min(ms, (user + system) / 1000 + TICK_MS);
  };
}

interface Times {
  readonly batches: readonly number[];
  readonly slices: readonly number[];
}

class Table {
  readonly backend: HeapKeyedStateBackend;
  readonly #count: ValueState<number>;
  #next = 1;

  constructor() {
    this.backend = new HeapKeyedStateBackend({
      maxParallelism: MAX_PARALLELISM,
      keyGroups: [0, MAX_PARALLELISM - 1],
      operatorName: 'counts',
      freeze: false,
    });
    const handles = this.backend.handlesFor({ count: valueState({ default: 0 }) });
    this.#count = handles['count'] as ValueState<number>;
    for (let key = 0; key < KEYS; key++) this.#update(key);
  }

  /** Time of a batch of updates of keys without order. */
  batch(): number {
    const watch = stopwatch();
    for (let i = 0; i < BATCH; i++) {
      this.#next = (Math.imul(this.#next, 1_664_525) + 1_013_904_223) >>> 0;
      this.#update(this.#next % KEYS);
    }
    return watch();
  }

  #update(key: number): void {
    this.backend.setCurrentKey(key);
    this.#count.update(this.#count.value + 1);
  }
}

async function withSnapshots(table: Table, folder: string): Promise<Times> {
  const batches: number[] = [];
  const slices: number[] = [];
  for (let checkpoint = 1; batches.length < BATCHES; checkpoint++) {
    let watch = stopwatch();
    const options = { location: folder, fileName: `data-${checkpoint}`, inlineThresholdBytes: 0 };
    const writer = new SubtaskSnapshotWriter(new LocalFileSystem(), realClock, options);
    const facts = { operatorId: '0'.repeat(32) as never, uid: 'counts', name: 'counts', type: 'x' };
    writer.addOperator({ ...facts, keyed: table.backend, timers: null, operatorState: null });
    slices.push(watch());
    watch = stopwatch();
    await writer.finish(async () => {
      slices.push(watch());
      batches.push(table.batch());
      // Slices end where the writer waits for the disk, too: then other work runs.
      await new Promise((resolve) => setImmediate(resolve));
      watch = stopwatch();
    });
    for (let pause = 0; pause < 100; pause++) batches.push(table.batch());
  }
  return { batches, slices };
}

async function measure(): Promise<Times & { readonly plain: readonly number[] }> {
  const table = new Table();
  for (let warmUp = 0; warmUp < 500; warmUp++) table.batch();
  const plain: number[] = [];
  return withFolder('weir-bench-data-', async (folder) => {
    await withSnapshots(table, folder);
    for (let i = 0; i < BATCHES; i++) plain.push(table.batch());
    return { ...(await withSnapshots(table, folder)), plain };
  });
}

const common = {
  unit: 'ms',
  compares: 'value',
  direction: 'atMost',
  mustReach: 10,
  reachFor: 2,
} as const;

export const SNAPSHOT_ROWS: readonly Row[] = [
  {
    ...common,
    name: 'snapshot-slice',
    title: 'longest synchronous slice of snapshot work, 1M heap keys',
    measure: async (): Promise<Measured> => {
      const { slices } = await measure();
      const notes = { p50: percentile(slices, 0.5), p99: percentile(slices, 0.99) };
      return { value: percentile(slices, 1), baseline: null, notes };
    },
  },
  {
    ...common,
    name: 'snapshot-batch',
    title: 'p99.9 of a batch with snapshots minus without, 1M heap keys',
    measure: async (): Promise<Measured> => {
      const { batches, plain } = await measure();
      const [withThem, without] = [percentile(batches, 0.999), percentile(plain, 0.999)];
      return { value: withThem - without, baseline: null, notes: { withThem, without } };
    },
  },
];
