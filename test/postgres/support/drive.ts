/** Attempts of a sink, driven by hand on the real clock: each test chooses where one crashes. */
import { SinkDriver } from '../../../packages/core/src/connectors/parts/test-support.ts';
import { testEnvironment } from '../../../packages/core/src/connectors/test-support.ts';
import type { TestEnvironment } from '../../../packages/core/src/connectors/test-support.ts';
import { realClock } from '../../../packages/core/src/cluster/real-clock.ts';
import { MemoryFileSystem } from '../../../packages/core/src/storage/memory-file-system.ts';
import { postgresSink } from '../../../packages/postgres/src/index.ts';
import type {
  PostgresCommittable,
  PostgresSinkOptions,
} from '../../../packages/postgres/src/index.ts';
import { freshJobId } from '../../../tools/exactly-once/fresh-job-id.ts';

export type Driver = SinkDriver<number, never, PostgresCommittable>;

export interface Attempts {
  readonly logged: string[];
  /** The next attempt of the sink, not yet started; `signal` ends its tasks. */
  next(signal?: AbortSignal): Driver;
  closeAll(): Promise<void>;
}

/** Writes numbers into the column `id` of a table, through as many attempts as are asked for. */
export function attemptsOn(
  url: string,
  table: string,
  options: Partial<PostgresSinkOptions<number>> = {},
): Attempts {
  const job = { jobId: freshJobId() };
  const logged: string[] = [];
  const drivers: Driver[] = [];
  return {
    logged,
    next(signal) {
      const counter = drivers.length + 1;
      const environment = {
        ...testEnvironment(new MemoryFileSystem(), counter),
        clock: realClock,
        signal,
        logger: { log: (level: string, text: string) => void logged.push(`${level} ${text}`) },
      } as unknown as TestEnvironment;
      const sink = postgresSink<number>({
        connection: url,
        table,
        columns: { id: (value) => value },
        retryForMs: 5000,
        lockTimeoutMs: 1000,
        ...options,
      });
      const driver: Driver = new SinkDriver(sink, environment, counter, job);
      drivers.push(driver);
      return driver;
    },
    async closeAll() {
      for (const driver of drivers) await driver.close();
    },
  };
}

/** Writes as the engine does: it waits while the sink takes nothing. */
export async function put(driver: Driver, value: number, subtask = 0): Promise<void> {
  const writer = driver.writers[subtask];
  if (writer !== undefined && !writer.isWritable) await writer.whenWritable();
  driver.write(value, subtask);
}
