/**
 * What every path from a source to a sink guarantees, before anything is read: the rules of
 * `docs/guide/guarantees.md`, in their order. The level of a path is that of its weakest component,
 * which is named; the level of the job is that of its weakest path.
 */
import type {
  SinkGuaranteeFacts,
  SinkOuterFacts,
  SourceGuaranteeFacts,
  SourceOuterFacts,
} from '../api/guarantee-facts.ts';
import type { Sink } from '../api/sink.ts';
import type { Source } from '../api/source.ts';
import type { Guarantee } from '../api/stream-execution-environment.ts';
import type { StreamGraph, StreamNode } from '../api/stream-graph.ts';
import { describeNode } from './operator-facts.ts';
import { operatorsBetween, reach } from './replay-facts.ts';
import type { OperatorReplay } from './replay-facts.ts';

export interface GuaranteeSettings {
  /** `null`: checkpoints are off. */
  readonly checkpoints: {
    readonly intervalMs: number;
    readonly timeoutMs: number;
    readonly mode: 'EXACTLY_ONCE' | 'AT_LEAST_ONCE';
    /** Checkpoints that are kept. */
    readonly retained: number;
    /** Whether a task that ends waits for a last one. */
    readonly endsWithOne: boolean;
  } | null;
  /** The first three delays of the restart strategy together. */
  readonly restartDelayMs: number;
  readonly defaultParallelism: number;
  readonly required: Guarantee | null;
}

export interface PathGuarantee {
  readonly source: StreamNode;
  readonly sink: StreamNode;
  readonly operators: readonly OperatorReplay[];
  readonly level: Guarantee;
  /** Exactly once in the end; while recovering a reader may see values go back and forth. */
  readonly isPassingInconsistent: boolean;
  /** What keeps the level from being higher, and what would raise it; `null` at the top. */
  readonly weakest: string | null;
  /** What a reader must do, what is lost by choice, a window that remains. */
  readonly notes: readonly string[];
  /** Of a sink whose transactions time out. */
  readonly timeBudget: TimeBudget | null;
  /** Of a source whose records are not kept for ever. */
  readonly retention: Retention | null;
  /** What the outer system of the sink says of itself that makes less of the level. */
  readonly warnings: readonly string[];
}

/** How long the records of a source can be read again. */
export interface Retention {
  readonly retentionMs: number;
  readonly name: string;
  /** Age of the oldest checkpoint that is kept, when all goes well; `null`: there are none. */
  readonly oldestMs: number | null;
}

/** What outer systems answered, by the node's id. */
export interface OuterFacts {
  readonly sinks: ReadonlyMap<number, SinkOuterFacts>;
  readonly sources: ReadonlyMap<number, SourceOuterFacts>;
}

export interface TimeBudget {
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly restartMs: number;
  readonly neededMs: number;
  readonly transactionTimeoutMs: number;
  /** What the outer system allows at most; `null`: not known. */
  readonly maximum: { readonly ms: number; readonly name: string } | null;
  readonly isKept: boolean;
}

export interface GuaranteePlan {
  readonly level: Guarantee;
  readonly required: Guarantee | null;
  readonly paths: readonly PathGuarantee[];
}

const LEVELS: readonly Guarantee[] = ['none', 'at-most-once', 'at-least-once', 'exactly-once'];

const NOTHING_KNOWN: OuterFacts = { sinks: new Map(), sources: new Map() };

/** `outer`: what was asked of outer systems; without, the plan says nothing of them. */
export function planGuarantees(
  graph: StreamGraph,
  settings: GuaranteeSettings,
  outer: OuterFacts = NOTHING_KNOWN,
): GuaranteePlan {
  const paths = graph.nodes
    .filter((node) => node.spec.type === 'source')
    .flatMap((source) => {
      const reached = reach(graph, source.id, 'down');
      return graph.nodes
        .filter((node) => node.spec.type === 'sink' && reached.has(node.id))
        .map((sink) => planPath({ graph, settings, outer }, source, sink));
    });
  const levels = paths.map((path) => LEVELS.indexOf(path.level));
  const level = LEVELS[Math.min(LEVELS.length - 1, ...levels)] ?? 'none';
  return { level, required: settings.required, paths };
}

/**
 * Whether a run that was killed must not simply be begun again: without checkpoints nobody knows
 * how far it came, and a sink that writes at once would write the same again.
 */
export function wouldRepeat({ nodes }: StreamGraph, { checkpoints }: GuaranteeSettings): boolean {
  if (checkpoints !== null) return false;
  return nodes
    .filter((node) => node.spec.type === 'sink')
    .map(sinkOf)
    .some((sink) => sink.write !== 'two-phase-commit' && sink.isVolatile !== true);
}

/** The paths that are weaker than what is required, or whose time budget is not kept. */
export function shortfalls({ required, paths }: GuaranteePlan): readonly PathGuarantee[] {
  if (required === null) return [];
  const wanted = LEVELS.indexOf(required);
  return paths.filter(
    (path) =>
      LEVELS.indexOf(path.level) < wanted ||
      (required === 'exactly-once' && path.timeBudget?.isKept === false),
  );
}

interface Verdict {
  readonly level: Guarantee;
  readonly weakest: string | null;
  readonly isPassingInconsistent?: boolean;
  readonly note?: string;
}

interface Planning {
  readonly graph: StreamGraph;
  readonly settings: GuaranteeSettings;
  readonly outer: OuterFacts;
}

function planPath(
  { graph, settings, outer }: Planning,
  source: StreamNode,
  sink: StreamNode,
): PathGuarantee {
  const operators = operatorsBetween(graph, source, sink, settings.defaultParallelism);
  const ends = { source: sourceOf(source), sink: sinkOf(sink), operators };
  const verdict = judge(ends, settings);
  const isExact = verdict.level === 'exactly-once';
  const timeBudget = isExact ? timeBudgetOf(ends.sink, settings, outer.sinks.get(sink.id)) : null;
  const skips = ends.source.onMalformed === 'skip';
  const notes = [
    ...(isExact && ends.sink.readersDuty !== undefined ? [ends.sink.readersDuty] : []),
    ...(isExact && settings.checkpoints !== null && ends.sink.write === 'two-phase-commit'
      ? [resultsAppear(ends.sink, settings.checkpoints.intervalMs)]
      : []),
    ...(verdict.note === undefined ? [] : [verdict.note]),
    ...(skips
      ? ['records that cannot be read are skipped and counted: this path loses those']
      : []),
  ];
  return {
    source,
    sink,
    operators,
    level: verdict.level,
    isPassingInconsistent: verdict.isPassingInconsistent ?? false,
    weakest: verdict.weakest,
    notes,
    timeBudget,
    retention: retentionOf(settings, outer.sources.get(source.id)),
    warnings: outer.sinks.get(sink.id)?.warnings ?? [],
  };
}

function retentionOf(
  { checkpoints }: GuaranteeSettings,
  facts: SourceOuterFacts | undefined,
): Retention | null {
  if (facts === undefined || facts.retentionMs === null) return null;
  const oldestMs = checkpoints === null ? null : checkpoints.intervalMs * checkpoints.retained;
  return { retentionMs: facts.retentionMs, name: facts.retentionName, oldestMs };
}

function resultsAppear(sink: SinkGuaranteeFacts, intervalMs: number): string {
  return `results appear ${sink.resultsAppear ?? `≈ ${seconds(intervalMs)} after their record`}`;
}

interface Ends {
  readonly source: Source<unknown> & SourceGuaranteeFacts;
  readonly sink: Sink<unknown> & SinkGuaranteeFacts;
  readonly operators: readonly OperatorReplay[];
}

function judge(ends: Ends, { checkpoints }: GuaranteeSettings): Verdict {
  const { source, sink, operators } = ends;
  if (sink.write === 'unacknowledged')
    return { level: 'none', weakest: `${sink.name} does not wait for acknowledgements` };
  if (checkpoints === null)
    return {
      level: 'at-most-once',
      weakest: 'checkpoints are off: nothing is replayed after a failure; env.enableCheckpointing',
    };
  if (source.replay === 'none') return judgeWithoutReplay(ends);
  if (checkpoints.mode === 'AT_LEAST_ONCE') {
    const isStateless = operators.every((it) => !it.isStateful && it.behaviour === 'deterministic');
    if (isStateless && sink.write === 'idempotent')
      return { level: 'exactly-once', weakest: null, isPassingInconsistent: true };
    return {
      level: 'at-least-once',
      weakest: 'the checkpointing mode is AT_LEAST_ONCE; EXACTLY_ONCE would raise it',
    };
  }
  const publishesByCheckpoint =
    sink.write === 'two-phase-commit' || sink.write === 'write-ahead-log';
  if (publishesByCheckpoint && !checkpoints.endsWithOne && source.boundedness === 'bounded')
    return {
      level: 'at-least-once',
      weakest:
        `${source.name} ends, and its last results are published without a checkpoint; ` +
        'execution.checkpointing.checkpoints-after-tasks-finish: true would raise it',
    };
  return judgeSink(ends);
}

function judgeWithoutReplay({ source, sink, operators }: Ends): Verdict {
  // What is emitted again out of restored state is there twice; by key, too, where it is another.
  const writesAtOnce = sink.write === 'plain' || sink.write === 'idempotent';
  const repeats =
    (sink.write === 'write-ahead-log' && sink.confirmation !== 'atomic') ||
    (writesAtOnce && operators.some((it) => it.emitsHeld));
  const weakest = `${source.name} cannot be read again`;
  if (repeats) return { level: 'none', weakest: `${weakest}, and ${sink.name} may repeat` };
  const keeper = operators.find((it) => it.mayHold);
  if (!writesAtOnce || keeper === undefined) return { level: 'at-most-once', weakest };
  const note = `records that ${describeNode(keeper.node)} keeps and emits later may come twice`;
  return { level: 'at-most-once', weakest, note };
}

function judgeSink({ sink, operators }: Ends): Verdict {
  switch (sink.write) {
    case 'two-phase-commit':
      return { level: 'exactly-once', weakest: null };
    case 'write-ahead-log':
      if (sink.confirmation === 'atomic') return { level: 'exactly-once', weakest: null };
      return {
        level: 'at-least-once',
        weakest: `${sink.name} keeps its confirmations apart from the data`,
        note: 'exactly-once but for a crash between a write and its confirmation',
      };
    case 'idempotent':
      return judgeIdempotent(sink, operators);
    default:
      return {
        level: 'at-least-once',
        weakest: `${sink.name} writes plainly; an idempotent or transactional sink would raise it`,
      };
  }
}

function judgeIdempotent(
  sink: Sink<unknown> & SinkGuaranteeFacts,
  operators: readonly OperatorReplay[],
): Verdict {
  const isFine = (it: OperatorReplay): boolean =>
    it.behaviour === 'deterministic' ||
    (it.behaviour === 'order-dependent' && sink.converges === true);
  const weak = operators.find((it) => !isFine(it));
  if (weak === undefined)
    return { level: 'exactly-once', weakest: null, isPassingInconsistent: true };
  const name = weak.node.uid ?? weak.node.name;
  return {
    level: 'at-least-once',
    weakest: `${name} may emit other results when records are replayed (${weak.behaviour})`,
  };
}

function timeBudgetOf(
  sink: Sink<unknown> & SinkGuaranteeFacts,
  { checkpoints, restartDelayMs }: GuaranteeSettings,
  facts: SinkOuterFacts | undefined,
): TimeBudget | null {
  if (sink.transactionTimeoutMs === undefined || checkpoints === null) return null;
  const { intervalMs, timeoutMs } = checkpoints;
  const neededMs = intervalMs + timeoutMs + restartDelayMs;
  const { transactionTimeoutMs } = sink;
  const { transactionTimeoutMaxMs: maximumMs = null, transactionTimeoutMaxName: name = '' } =
    facts ?? {};
  const maximum = maximumMs === null ? null : { ms: maximumMs, name };
  const isKept =
    neededMs < transactionTimeoutMs && transactionTimeoutMs <= (maximum?.ms ?? Infinity);
  return {
    intervalMs,
    timeoutMs,
    restartMs: restartDelayMs,
    neededMs,
    transactionTimeoutMs,
    maximum,
    isKept,
  };
}

function sourceOf({ spec }: StreamNode): Source<unknown> & SourceGuaranteeFacts {
  if (spec.type !== 'source') throw new Error('not a source');
  return spec.source;
}

function sinkOf({ spec }: StreamNode): Sink<unknown> & SinkGuaranteeFacts {
  if (spec.type !== 'sink') throw new Error('not a sink');
  return spec.sink;
}

export function seconds(ms: number): string {
  return `${Number((ms / 1000).toFixed(1))} s`;
}
