/** `@weir/redis`: sinks for Redis, exactly once by a write-ahead log or by key. */
export { redisSink } from './redis-sink.ts';
export type { RedisSinkOptions } from './redis-sink.ts';
export { redisUpsertSink } from './redis-upsert-sink.ts';
export type { RedisUpsertSinkOptions } from './redis-upsert-sink.ts';
export type { RedisAddress, RedisConnectionOptions } from './connection-options.ts';
export type { RedisCommand, RedisValue } from './commands/redis-command.ts';
export type { FieldOf, HashFields, UpsertWrite } from './upsert/upsert-write.ts';
export type { LoggedCommands } from './commands/logged-commands.ts';
