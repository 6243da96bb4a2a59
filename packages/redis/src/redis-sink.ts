/**
 * `redisSink`: the options of the write-ahead-log sink, their defaults and limits. Called by users
 * while they build the graph; opens no connection.
 */
import { ConfigurationError, WriteAheadLogSink } from '@weir/core';
import type {
  CommitterContext,
  ConnectorEnvironment,
  SinkOuterFacts,
  WriteAheadLogTarget,
} from '@weir/core';
import { sinkName } from './client-name.ts';
import type { Connect } from './client/session.ts';
import { logged } from './commands/redis-command.ts';
import type { LoggedCommands } from './commands/logged-commands.ts';
import type { RedisCommand } from './commands/redis-command.ts';
import { checkWhole, serverOf } from './connection-options.ts';
import type { RedisConnectionOptions, ServerFactory } from './connection-options.ts';
import { askAboutServer } from './server-settings.ts';
import { CommandLogOutput } from './sink/command-log-output.ts';
import { RedisConfirmations } from './sink/confirmations.ts';

export interface RedisSinkOptions<T> extends RedisConnectionOptions {
  /** What is written for a record: `['RPUSH', 'orders', JSON.stringify(order)]`, or several. */
  readonly commands: (value: T) => RedisCommand | readonly RedisCommand[];
  /**
   * `atomic` (default): which results are written is kept in the same transaction as the results
   * (MULTI), so each is written once. `separate`: it is kept behind them, without transactions; a
   * crash in between writes the results of a checkpoint twice.
   */
  readonly confirmation?: 'atomic' | 'separate';
  /** Begin of the keys that tell which results are written. Default `weir`. */
  readonly confirmationPrefix?: string;
  /** Records of one transaction, or of one pipeline. Default 1000. */
  readonly batchSize?: number;
}

/**
 * Writes results into Redis when their checkpoint is complete: exactly once, or with a `separate`
 * confirmation at least once. Until then the checkpoint holds them.
 *
 * Fails for good with `SINK_REFUSED` when a key holds another type, a right is missing, or the
 * server may remove keys; within the restart strategy with `SINK_UNAVAILABLE` when it is away or
 * full.
 * Fails with `RECORD_MALFORMED` at a command that Redis would not take.
 * @throws ConfigurationError when an option is not allowed.
 */
export function redisSink<T>(
  options: RedisSinkOptions<T>,
  connect?: Connect,
): WriteAheadLogSink<T, LoggedCommands> {
  return new RedisSink(options, connect);
}

class RedisSink<T> extends WriteAheadLogSink<T, LoggedCommands> {
  readonly name: string = 'redis';
  readonly confirmation: 'atomic' | 'separate';
  readonly #factory: ServerFactory;
  readonly #commands: RedisSinkOptions<T>['commands'];
  readonly #prefix: string;
  readonly #batchSize: number;

  constructor(options: RedisSinkOptions<T>, connect: Connect | undefined) {
    super();
    const { confirmation = 'atomic', confirmationPrefix = 'weir', batchSize = 1000 } = options;
    if (!['atomic', 'separate'].includes(confirmation))
      throw new ConfigurationError(
        `redisSink confirmation: ${JSON.stringify(confirmation)} is not allowed, give atomic or ` +
          'separate',
      );
    if (confirmationPrefix === '')
      throw new ConfigurationError('redisSink confirmationPrefix: give at least one character');
    checkWhole('redisSink batchSize', batchSize, 1);
    this.confirmation = confirmation;
    this.#factory = serverOf('redisSink', options, connect);
    this.#commands = options.commands;
    this.#prefix = confirmationPrefix;
    this.#batchSize = batchSize;
  }

  askOuterSystem(environment: ConnectorEnvironment): Promise<SinkOuterFacts> {
    return askAboutServer(this.#factory, environment);
  }

  protected override toLogged(value: T): LoggedCommands {
    return logged(this.#commands(value), 'redisSink');
  }

  protected override connect(context: CommitterContext): WriteAheadLogTarget<LoggedCommands> {
    const server = this.#factory.open(context, sinkName(context));
    return {
      output: new CommandLogOutput(server, {
        isAtomic: this.confirmation === 'atomic',
        prefix: this.#prefix,
        batchSize: this.#batchSize,
        allowEviction: this.#factory.allowEviction,
      }),
      confirmations: new RedisConfirmations(server, this.#prefix),
    };
  }
}
