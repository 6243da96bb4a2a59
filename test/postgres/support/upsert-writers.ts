/** Writers of the upsert sink, driven by hand on the real clock; each is a newer attempt. */
import type { SinkWriterContext } from '@weir/core';
import { realClock } from '../../../packages/core/src/cluster/real-clock.ts';
import {
  testCounters,
  testEnvironment,
} from '../../../packages/core/src/connectors/test-support.ts';
import { postgresUpsertSink } from '../../../packages/postgres/src/index.ts';
import type { PostgresUpsertSinkOptions } from '../../../packages/postgres/src/index.ts';
import { freshJobId } from '../../../tools/exactly-once/fresh-job-id.ts';

export interface Total {
  readonly key: string;
  readonly total: number;
}

export interface UpsertWriter {
  readonly counts: Map<string, number>;
  put(key: string, total: number): void;
  /** Resolves when everything before it is written. */
  barrier(): Promise<void>;
}

/** What a writer is, where it is not subtask 0 of the only process. */
export interface WriterPlace {
  readonly subtask?: number;
  readonly epoch?: number;
}

export interface UpsertWriters {
  open(place?: WriterPlace): Promise<UpsertWriter>;
  closeAll(): Promise<void>;
}

export function upsertWriters(
  url: string,
  table: string,
  options: Partial<PostgresUpsertSinkOptions<Total>> = {},
): UpsertWriters {
  const jobId = freshJobId();
  const closes: (() => Promise<void>)[] = [];
  return {
    async open({ subtask = 0, epoch = 1 } = {}) {
      const sink = postgresUpsertSink<Total>({
        connection: url,
        table,
        key: ['key'],
        columns: { key: 'key', total: 'total' },
        retryForMs: 5000,
        ...options,
      });
      const { counts, metrics } = testCounters();
      const context = {
        ...testEnvironment(),
        jobId,
        operatorId: '123456789abcdef0123456789abcdef0',
        clock: realClock,
        subtask,
        parallelism: subtask + 1,
        attempt: { epoch, counter: closes.length + 1 },
        metrics,
      } as unknown as SinkWriterContext;
      const writer = sink.createWriter(context, []);
      closes.push(() => writer.close());
      await writer.open?.();
      return {
        counts,
        put: (key, total) => writer.write({ key, total }, NO_TIME),
        barrier: () => writer.prepareCommit({ checkpointId: 1, endOfInput: false }).durable,
      };
    },
    async closeAll() {
      for (const close of closes) await close();
    },
  };
}

const NO_TIME = { timestamp: Number.NaN, watermark: -Infinity };
