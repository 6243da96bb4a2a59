/**
 * Draws a job: sources, operators that take earlier streams, and a sink on every stream that
 * nothing else takes. Streams are kept small, so that a schedule is quick and a difference is easy
 * to read.
 */
import type { Random } from '@weir/core/internal/base/random';
import { recount } from './recount.ts';
import type {
  JobSpec,
  OperatorKind,
  OperatorSpec,
  SinkSpec,
  SourceSpec,
  SplitSpec,
} from './job-spec.ts';

const RECORDS_MAX = 400;
/** Larger jobs find little more, and take much longer. */
const STREAMS_MAX = 5;
/** Of the records of one source: a longer run would only repeat itself. */
const DURATION_MS_MAX = 400;
/** These hold records back, or mix their order: what follows cannot rely on event time. */
export const UNTIMED: ReadonlySet<OperatorKind> = new Set(['hold', 'session', 'buffer']);

export interface JobLimits {
  /** Windows need that no record comes twice. */
  readonly exactlyOnce: boolean;
  readonly operatorsMax: number;
}

export function drawJob(random: Random, limits: JobLimits): JobSpec {
  const streams: (SourceSpec | OperatorSpec)[] = [];
  const sourceCount = [1, 1, 2, 2, 3][random.int(5)] as number;
  const stepTs = 1 + random.int(20);
  for (let i = 0; i < sourceCount; i++) streams.push(drawSource(random, i, stepTs));
  const operatorsMax = Math.min(limits.operatorsMax, STREAMS_MAX - sourceCount);
  const operatorCount = 1 + random.int(operatorsMax);
  for (let i = 0; i < operatorCount; i++) drawOperator(random, streams, limits);
  const chaining = random.int(4) > 0;
  const sinks = drawSinks(random, streams);
  const hasWindow = streams.some((it) => it.type === 'operator' && it.kind === 'window');
  return {
    name: 'simulated',
    streams: hasWindow ? streams.map(withoutLateRecords) : streams,
    sinks,
    chaining,
  };
}

function withoutLateRecords(stream: SourceSpec | OperatorSpec): SourceSpec | OperatorSpec {
  return stream.type === 'source'
    ? { ...stream, idlenessMs: null, assignment: 'first', reader: 'simulated' }
    : stream;
}

function drawSource(random: Random, index: number, stepTs: number): SourceSpec {
  const splitCount = 1 + random.int(4);
  const name = `s${index}`;
  const splits = Array.from({ length: splitCount }, (_split, number): SplitSpec => ({
    id: `${name}.${number}`,
    count: random.int(8) === 0 ? 0 : 1 + random.int(24),
    firstTs: 1000 + random.int(100),
    stepTs,
  }));
  const records = splits.reduce((sum, { count }) => sum + count, 0);
  const keys = 1 + random.int(6);
  const burst = 1 + random.int(4);
  const pauseMs = [5, 20, 40, 80][random.int(4)] as number;
  const longestPauseMs = Math.ceil((DURATION_MS_MAX * burst) / Math.max(1, records));
  return {
    type: 'source',
    name,
    splits,
    keys,
    burst,
    pauseMs: Math.min(pauseMs, longestPauseMs),
    parallelism: random.int(3) === 0 ? 1 + random.int(3) : null,
    idlenessMs: random.int(3) === 0 ? 20 + random.int(100) : null,
    assignment: random.int(2) === 0 ? 'first' : 'asked',
    reader: random.int(3) === 0 ? 'files' : 'simulated',
    // Without a draw, so that the jobs of known seeds stay what they are.
    readsInTurn: burst % 2 === 0,
  };
}

const KINDS: readonly OperatorKind[] = [
  'map',
  'filter',
  'flatMap',
  'coin',
  'fragile',
  'count',
  'count',
  'aggregate',
  'window',
  'window',
  'hold',
  'session',
  'buffer',
  'owners',
  'all',
  'union',
  'join',
  'rules',
];

/** Their size is a time. */
const LONG: ReadonlySet<OperatorKind> = new Set(['hold', 'session', 'window']);

function drawOperator(
  random: Random,
  streams: (SourceSpec | OperatorSpec)[],
  limits: JobLimits,
): void {
  const kind = KINDS[random.int(KINDS.length)] as OperatorKind;
  const first = pickInput(random, streams.length);
  let inputs = [first];
  if (kind === 'union' || kind === 'join' || kind === 'rules') {
    if (streams.length < 2) return;
    const second = (first + 1 + random.int(streams.length - 1)) % streams.length;
    inputs = [first, second];
  }
  if (kind === 'window' && !(limits.exactlyOnce && inputs.every((it) => isTimed(streams, it))))
    return;
  const operator: OperatorSpec = {
    type: 'operator',
    kind,
    name: `o${streams.length}`,
    inputs,
    parallelism:
      kind === 'all' ? 1 + random.int(3) : random.int(4) === 0 ? 1 + random.int(4) : null,
    partition: (['none', 'none', 'none', 'rebalance', 'shuffle', 'rescale'] as const)[
      random.int(6)
    ] as OperatorSpec['partition'],
    startsChain: random.int(4) === 0,
    size: LONG.has(kind) ? 5 + random.int(120) : 1 + random.int(8),
  };
  const counted = recount({ name: '', streams: [...streams, operator], sinks: [], chaining: true });
  if (counted.streams.at(-1)!.length <= RECORDS_MAX) streams.push(operator);
}

/** About how long the sources of a job take, undisturbed. */
export function durationMs(job: JobSpec): number {
  const durations = job.streams.map((stream) => {
    if (stream.type !== 'source') return 0;
    const records = stream.splits.reduce((sum, { count }) => sum + count, 0);
    return (records / stream.burst) * stream.pauseMs;
  });
  return Math.max(...durations);
}

/** Newer streams more often: deep graphs, with some branches. */
function pickInput(random: Random, count: number): number {
  return Math.max(random.int(count), random.int(count));
}

/** Whether records of a stream never come after their time. */
export function isTimed(streams: readonly (SourceSpec | OperatorSpec)[], index: number): boolean {
  const stream = streams[index];
  if (stream === undefined || stream.type === 'source') return stream !== undefined;
  return !UNTIMED.has(stream.kind) && stream.inputs.every((input) => isTimed(streams, input));
}

function drawSinks(
  random: Random,
  streams: readonly (SourceSpec | OperatorSpec)[],
): readonly SinkSpec[] {
  const used = new Set(
    streams.flatMap((stream) => (stream.type === 'operator' ? stream.inputs : [])),
  );
  const sinks: SinkSpec[] = [];
  for (let input = 0; input < streams.length; input++) {
    if (used.has(input) && random.int(12) > 0) continue;
    sinks.push({
      name: `k${input}`,
      input,
      kind: (['transactions', 'transactions', 'files', 'files', 'plain'] as const)[
        random.int(5)
      ] as SinkSpec['kind'],
      parallelism: random.int(4) === 0 ? 1 + random.int(3) : null,
      size: 1 + random.int(10),
    });
  }
  return sinks;
}
