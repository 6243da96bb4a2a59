/**
 * Asks the outer systems of a job what only they know: how long a transaction may be open, how long
 * records can be read again. Before a run, and by `weir explain`. A system that does not answer in
 * time is not waited for: the run meets it again, with its restart strategy. What systems say that
 * they will refuse ends the start, all of it at once, before anything is read or written.
 */
import type { ConnectorEnvironment, Source } from '../api/source.ts';
import type {
  SinkGuaranteeFacts,
  SinkOuterFacts,
  SourceGuaranteeFacts,
  SourceOuterFacts,
} from '../api/guarantee-facts.ts';
import type { Sink } from '../api/sink.ts';
import type { StreamGraph, StreamNode } from '../api/stream-graph.ts';
import { errorKind, isWeirError, messageOf, WeirError } from '../base/errors.ts';
import { named } from '../base/name-error.ts';
import { checkRequiredGuarantee } from '../graph/explain-guarantee.ts';
import { planGuarantees } from '../graph/guarantee-planner.ts';
import type { OuterFacts } from '../graph/guarantee-planner.ts';
import { guaranteeSettings } from './guarantee-settings.ts';
import { tooLargeShares } from './outer-shares.ts';
import type { ShareOfSink } from './outer-shares.ts';
import type { PreparedJob } from './prepare-run.ts';

const LIMIT_MS = 3000;

/** What outer systems said, and why the job cannot start: errors of kind `user`. */
export interface OuterAnswers {
  readonly facts: OuterFacts;
  readonly refusals: readonly WeirError[];
  /** Those that could not be asked, with the reason: the run meets them again. */
  readonly unanswered: readonly string[];
}

/** Rejects with everything that is refused; also when sinks together need too much. */
export async function askOuterSystems(
  graph: StreamGraph,
  environment: ConnectorEnvironment,
  defaultParallelism: number,
): Promise<OuterFacts> {
  const { facts, refusals } = await outerAnswers(graph, environment, defaultParallelism);
  throwRefusals(refusals);
  return facts;
}

/** @throws WeirError with everything that is refused, if anything is. */
export function throwRefusals(refusals: readonly WeirError[]): void {
  const [first] = refusals;
  if (first === undefined) return;
  if (refusals.length === 1) throw first;
  const list = refusals.map(({ message }) => `\n  - ${message}`).join('');
  throw new WeirError('user', `the job cannot start, for ${refusals.length} reasons:${list}`, {
    code: first.code,
    details: { refusals: refusals.map(({ message }) => message) },
  });
}

/** The same for those who show all there is: one that refuses keeps no other from being heard. */
export async function outerAnswers(
  graph: StreamGraph,
  environment: ConnectorEnvironment,
  defaultParallelism: number,
): Promise<OuterAnswers> {
  const sinks = new Map<number, SinkOuterFacts>();
  const sources = new Map<number, SourceOuterFacts>();
  const failures = new Map<number, unknown>();
  const asked: StreamNode[] = [];
  const asking: Promise<unknown>[] = [];
  const ask = <Facts>(node: StreamNode, to: Map<number, Facts>, answer?: Promise<Facts>): void => {
    if (answer === undefined) return;
    asked.push(node);
    const take = (facts: Facts): void => void to.set(node.id, facts);
    const fail = (error: unknown): void => void failures.set(node.id, error);
    asking.push(answer.then(take, fail));
  };
  for (const node of graph.nodes) {
    const { spec } = node;
    if (spec.type === 'sink') {
      const sink: Sink<unknown> & SinkGuaranteeFacts = spec.sink;
      const question = { parallelism: node.parallelism ?? defaultParallelism };
      ask(node, sinks, sink.askOuterSystem?.(environment, question));
    } else if (spec.type === 'source') {
      const source: Source<unknown> & SourceGuaranteeFacts = spec.source;
      ask(node, sources, source.askOuterSystem?.(environment));
    }
  }
  if (asking.length > 0) await withinLimit(environment, Promise.all(asking));
  // Answers that come later must not change what was planned.
  const facts = { sinks: new Map(sinks), sources: new Map(sources) };
  const answers = { facts, failures: new Map(failures) };
  return {
    facts,
    refusals: [
      ...asked.flatMap((node) => refusalsOf(node, answers)),
      ...tooLargeShares(sharesOf(graph, facts)),
    ],
    unanswered: asked.flatMap((node) => unansweredBy(node, answers)),
  };
}

async function withinLimit(
  { clock }: Pick<ConnectorEnvironment, 'clock'>,
  answers: Promise<unknown>,
): Promise<void> {
  const limit = Promise.withResolvers<void>();
  const timer = clock.schedule(LIMIT_MS, 'outer-facts', limit.resolve);
  try {
    await Promise.race([answers, limit.promise]);
  } finally {
    timer.cancel();
  }
}

interface Answers {
  readonly facts: OuterFacts;
  /** By node. */
  readonly failures: ReadonlyMap<number, unknown>;
}

/** `sink totals-out`: in front of what a connector says, which does not know its uid. */
function ownerOf({ uid, name, spec }: StreamNode): string {
  return `${spec.type} ${uid ?? name}`;
}

function refusalsOf(node: StreamNode, { facts, failures }: Answers): readonly WeirError[] {
  const error = failures.get(node.id);
  if (isWeirError(error) && error.kind === 'user') return [named(ownerOf(node), error)];
  const texts = facts.sinks.get(node.id)?.refusals ?? [];
  return texts.map(
    (text) => new WeirError('user', `${ownerOf(node)}: ${text}`, { code: 'SINK_REFUSED' }),
  );
}

function unansweredBy(node: StreamNode, { facts, failures }: Answers): readonly string[] {
  if (facts.sinks.has(node.id) || facts.sources.has(node.id)) return [];
  const error = failures.get(node.id);
  if (errorKind(error) === 'user') return [];
  const reason = failures.has(node.id) ? messageOf(error) : `no answer within ${LIMIT_MS / 1000} s`;
  return [
    `${ownerOf(node)} could not be asked whether it fits: ${reason}; a run looks again when it ` +
      'starts',
  ];
}

function sharesOf(graph: StreamGraph, { sinks }: OuterFacts): readonly ShareOfSink[] {
  return graph.nodes.flatMap(({ id, uid, name }) =>
    (sinks.get(id)?.shares ?? []).map((share) => ({ ...share, sink: uid ?? name })),
  );
}

/**
 * The same job, its guarantees planned with what outer systems say.
 * @throws GraphValidationError when a path guarantees less than is required.
 */
export function withOuterFacts(prepared: PreparedJob, outer: OuterFacts): PreparedJob {
  const { streamGraph, configuration } = prepared;
  const guarantees = planGuarantees(streamGraph, guaranteeSettings(configuration), outer);
  checkRequiredGuarantee(guarantees);
  return { ...prepared, guarantees };
}
