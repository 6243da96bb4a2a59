/** Attempts of the write-ahead-log sink, driven by hand on the real clock. */
import { SinkDriver } from '../../../packages/core/src/connectors/parts/test-support.ts';
import { testEnvironment } from '../../../packages/core/src/connectors/test-support.ts';
import type { TestEnvironment } from '../../../packages/core/src/connectors/test-support.ts';
import { realClock } from '../../../packages/core/src/cluster/real-clock.ts';
import { MemoryFileSystem } from '../../../packages/core/src/storage/memory-file-system.ts';
import type { JobId } from '../../../packages/core/src/base/ids.ts';
import { RedisSession } from '../../../packages/redis/src/client/session.ts';
import type { Connect } from '../../../packages/redis/src/client/session.ts';
import { redisSink } from '../../../packages/redis/src/index.ts';
import type { RedisSinkOptions } from '../../../packages/redis/src/index.ts';
import { freshJobId } from '../../../tools/exactly-once/fresh-job-id.ts';

type Committer = ReturnType<ReturnType<typeof redisSink<number>>['createCommitter']>;
type LoggedResults = Parameters<Committer['commit']>[0][number];

export type Driver = SinkDriver<number, never, LoggedResults>;
type Options = Partial<RedisSinkOptions<number>>;

export function environmentOf(counter: number): TestEnvironment {
  return {
    ...testEnvironment(new MemoryFileSystem(), counter),
    clock: realClock,
  } as unknown as TestEnvironment;
}

/** Appends numbers to the list `key`, in as many attempts as are asked for. */
export function attemptsOn(
  url: string,
  key: string,
  options: Options = {},
  jobId: JobId = freshJobId(),
): (connect?: Connect) => Driver {
  let counter = 0;
  return (connect) => {
    counter++;
    const sink = redisSink<number>(
      {
        connection: url,
        commands: (n) => ['RPUSH', key, n],
        confirmationPrefix: `${key}:done`,
        retryForMs: 5000,
        ...options,
      } satisfies RedisSinkOptions<number>,
      connect,
    );
    return new SinkDriver<number, never, LoggedResults>(sink, environmentOf(counter), counter, {
      jobId,
    });
  };
}

/** What a pipeline of a session runs into. `act` sends it. */
export type Step = (
  what: string,
  act: () => ReturnType<RedisSession['send']>,
) => ReturnType<RedisSession['send']>;

/** Connections of which every pipeline passes `step`. */
export function stepping(step: Step): Connect {
  return async (settings, options) => {
    const session = await RedisSession.open(settings, options);
    return {
      get isBroken() {
        return session.isBroken;
      },
      send: (what, commands) => step(what, () => session.send(what, commands)),
      close: () => session.close(),
      destroy: () => session.destroy(),
    };
  };
}
