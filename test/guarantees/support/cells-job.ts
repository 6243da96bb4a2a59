/**
 * A source, three operators that behave differently when records are replayed, and behind each a
 * sink of every kind that there is a system for. A record stands still while there is a gate, so
 * that the barrier of its subtask is late and records of the other pass it.
 */
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  fileSink,
  fileSource,
  httpSink,
  job,
  lines,
  listState,
  ndjson,
  socketSource,
  type,
  valueState,
} from '@weir/core';
import type { DataStream, Job } from '@weir/core';
import { postgresSink, postgresUpsertSink } from '@weir/postgres';
import { redisSink, redisUpsertSink } from '@weir/redis';

/** A result as a reader of a sink sees it. */
export interface Result {
  readonly id: string;
  /** Records of both files meet in it. */
  readonly grp: string;
  /** The how-manieth of its group it was, where the operator counts. */
  readonly n: number;
  /** When it was emitted, where the operator waits for a time. */
  readonly at: number;
}

export const OPERATORS = ['deterministic', 'ordered', 'undetermined'] as const;
export type Operator = (typeof OPERATORS)[number];

export const SINKS = [
  'plain',
  'files',
  'postgres',
  'postgresUpsert',
  'postgresConverging',
  'redisAtomic',
  'redisSeparate',
  'redisUpsert',
  'httpKnown',
  'httpAgain',
] as const;
export type SinkName = (typeof SINKS)[number];

const HOLD_MS = 150;
const LOOK_MS = 5;
const IDLE = new Int32Array(new SharedArrayBuffer(4));

/** Beside a gate, once a record stands before it. */
export function standingMark(gate: string): string {
  return `${gate}.standing`;
}

/** Holds the thread up, as an operator does that works for long. */
function standStill(gate: string): void {
  while (existsSync(gate)) {
    writeFileSync(standingMark(gate), '');
    Atomics.wait(IDLE, 0, 0, LOOK_MS);
  }
}

/** What an idempotent sink writes a result under. */
export function keyOf(operator: Operator, { id, grp, n, at }: Result, converges: boolean): string {
  if (operator === 'ordered') return converges ? grp : `${id} as number ${n}`;
  return operator === 'undetermined' ? `${id} at ${at}` : id;
}

const cells: Job = job('cells', (env) => {
  const { args } = env;
  const socket = args.integer('socket', null);
  const source =
    socket === null
      ? fileSource({ path: args.string('input'), format: lines(), rate: args.number('rate') })
      : socketSource({ host: '127.0.0.1', port: socket, format: lines() });
  const gate = args.string('gate');
  const input = env
    .fromSource(source, { uid: 'in' })
    .map((line) => {
      if (line.endsWith(' slow')) standStill(gate);
      const [id = '', grp = ''] = line.split(' ');
      return { id, grp };
    })
    .uid('parsed');
  const place: Place = {
    folder: args.string('output'),
    database: args.string('database'),
    redis: args.string('redis'),
    http: args.string('http'),
    name: args.string('name'),
  };
  const onlyAtOnce = args.boolean('at-once');
  for (const operator of OPERATORS) {
    const results = BEHAVIOURS[operator](input);
    for (const sink of sinksBehind(operator)) {
      if (onlyAtOnce && isByCheckpoint(sink)) continue;
      write(results, { operator, sink, place });
    }
  }
});

/** The window between results and a separate confirmation is looked at once: it costs a kill. */
export function sinksBehind(operator: Operator): readonly SinkName[] {
  return operator === 'deterministic' ? SINKS : SINKS.filter((sink) => sink !== 'redisSeparate');
}

/** Sinks that publish with a checkpoint: without, they are refused unless the input ends. */
export function isByCheckpoint(sink: SinkName): boolean {
  return !['plain', 'postgresUpsert', 'postgresConverging', 'redisUpsert'].includes(sink);
}

interface Input {
  readonly id: string;
  readonly grp: string;
}

const BEHAVIOURS: Readonly<Record<Operator, (input: DataStream<Input>) => DataStream<Result>>> = {
  deterministic: (input) =>
    input
      .rebalance()
      .map(({ id, grp }) => ({ id, grp, n: 0, at: 0 }))
      .uid('deterministic'),
  ordered: (input) =>
    input
      .keyBy(({ grp }) => grp)
      .process({
        emits: type<Result>(),
        state: { count: valueState({ default: 0 }) },
        onElement({ id, grp }, context) {
          const { count } = context.state;
          count.update(count.value + 1);
          context.emit({ id, grp, n: count.value, at: 0 });
        },
      })
      .uid('ordered'),
  undetermined: (input) =>
    input
      .keyBy(({ grp }) => grp)
      .process({
        emits: type<Result>(),
        state: { held: listState<Input>() },
        onElement(value, context) {
          const { timerService, state } = context;
          state.held.add(value);
          timerService.registerProcessingTimeTimer(timerService.currentProcessingTime + HOLD_MS);
          timerService.registerEventTimeTimer(2 ** 50);
        },
        onTimer(_timestamp, context) {
          const { held } = context.state;
          const at = context.timerService.currentProcessingTime;
          for (const { id, grp } of held.get()) context.emit({ id, grp, n: 0, at });
          held.clear();
        },
      })
      .uid('undetermined'),
};

interface Place {
  readonly folder: string;
  readonly database: string;
  readonly redis: string;
  readonly http: string;
  readonly name: string;
}

interface Cell {
  readonly operator: Operator;
  readonly sink: SinkName;
  readonly place: Place;
}

/** Of the table, list, folder and path of a cell. */
export function nameOf(name: string, operator: Operator, sink: SinkName): string {
  return `${name}_${operator}_${sink}`.toLowerCase();
}

function write(results: DataStream<Result>, { operator, sink, place }: Cell): void {
  const name = nameOf(place.name, operator, sink);
  const file = join(place.folder, name);
  const connection = place.database;
  const columns = { id: 'id', grp: 'grp', n: 'n', at: 'at' } as const;
  const upsert = (converges: boolean): ReturnType<typeof postgresUpsertSink<Result>> =>
    postgresUpsertSink<Result>({
      connection,
      table: name,
      key: ['key'],
      columns: { ...columns, key: (result) => keyOf(operator, result, converges) },
      converges,
    });
  const redis = (confirmation: 'atomic' | 'separate'): ReturnType<typeof redisSink<Result>> =>
    redisSink<Result>({
      connection: place.redis,
      confirmation,
      confirmationPrefix: confirmation,
      commands: (result) => ['RPUSH', name, JSON.stringify(result)],
    });
  const http = (receiverDeduplicates: boolean): ReturnType<typeof httpSink<Result>> =>
    httpSink<Result>({ url: `${place.http}/${name}`, receiverDeduplicates });
  const uid = `${operator}-${sink}`;
  switch (sink) {
    case 'plain':
      results.forEach((result) => appendFileSync(file, `${JSON.stringify(result)}\n`)).uid(uid);
      return;
    case 'files':
      results.sinkTo(fileSink<Result>({ path: file, format: ndjson() })).uid(uid);
      return;
    case 'postgres':
      results.sinkTo(postgresSink<Result>({ connection, table: name, columns })).uid(uid);
      return;
    case 'postgresUpsert':
    case 'postgresConverging':
      results.sinkTo(upsert(sink === 'postgresConverging')).uid(uid);
      return;
    case 'redisAtomic':
    case 'redisSeparate':
      results.sinkTo(redis(sink === 'redisAtomic' ? 'atomic' : 'separate')).uid(uid);
      return;
    case 'redisUpsert':
      results
        .sinkTo(
          redisUpsertSink<Result>({
            connection: place.redis,
            key: (result) => `${name} ${keyOf(operator, result, false)}`,
            value: (result) => JSON.stringify(result),
          }),
        )
        .uid(uid);
      return;
    case 'httpKnown':
    case 'httpAgain':
      results.sinkTo(http(sink === 'httpKnown')).uid(uid);
  }
}

export default cells;
