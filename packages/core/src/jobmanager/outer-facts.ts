/**
 * Asks the outer systems of a job what only they know: how long a transaction may be open, how long
 * records can be read again. Before a run, and by `weir explain`. A system that does not answer in
 * time is not waited for: the run meets it again, with its restart strategy. One that says that it
 * will refuse what the job is set to ends the start, before anything is read or written.
 */
import type { ConnectorEnvironment, Source } from '../api/source.ts';
import type {
  SinkGuaranteeFacts,
  SinkOuterFacts,
  SourceGuaranteeFacts,
  SourceOuterFacts,
} from '../api/guarantee-facts.ts';
import type { Sink } from '../api/sink.ts';
import type { StreamGraph } from '../api/stream-graph.ts';
import { errorKind } from '../base/errors.ts';
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
  readonly refusals: readonly unknown[];
}

/** Rejects with the first error of kind `user`; also when sinks together need too much. */
export async function askOuterSystems(
  graph: StreamGraph,
  environment: ConnectorEnvironment,
  defaultParallelism: number,
): Promise<OuterFacts> {
  const { facts, refusals } = await outerAnswers(graph, environment, defaultParallelism);
  if (refusals.length > 0) throw refusals[0];
  return facts;
}

/** The same for those who show all there is: one that refuses keeps no other from being heard. */
export async function outerAnswers(
  graph: StreamGraph,
  environment: ConnectorEnvironment,
  defaultParallelism: number,
): Promise<OuterAnswers> {
  const refusals: unknown[] = [];
  const refuse = (error: unknown): void => void refusals.push(error);
  const sinks = new Map<number, SinkOuterFacts>();
  const sources = new Map<number, SourceOuterFacts>();
  const asking = graph.nodes.flatMap(({ id, spec, ...node }) => {
    if (spec.type === 'sink') {
      const sink: Sink<unknown> & SinkGuaranteeFacts = spec.sink;
      const question = { parallelism: node.parallelism ?? defaultParallelism };
      const take = (facts: SinkOuterFacts): void => void sinks.set(id, facts);
      return ask(sink.askOuterSystem?.(environment, question), take, refuse);
    }
    if (spec.type !== 'source') return [];
    const source: Source<unknown> & SourceGuaranteeFacts = spec.source;
    const take = (facts: SourceOuterFacts): void => void sources.set(id, facts);
    return ask(source.askOuterSystem?.(environment), take, refuse);
  });
  if (asking.length === 0) return { facts: { sinks, sources }, refusals };
  const limit = Promise.withResolvers<void>();
  const timer = environment.clock.schedule(LIMIT_MS, 'outer-facts', limit.resolve);
  try {
    await Promise.race([Promise.all(asking), limit.promise]);
  } finally {
    timer.cancel();
  }
  // Answers that come later must not change what was planned.
  const answered = { sinks: new Map(sinks), sources: new Map(sources) };
  const tooMuch = tooLargeShares(sharesOf(graph, answered));
  return { facts: answered, refusals: [...refusals, ...tooMuch] };
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

function ask<Facts>(
  answer: Promise<Facts> | undefined,
  take: (facts: Facts) => void,
  refuse: (error: unknown) => void,
): readonly Promise<void>[] {
  if (answer === undefined) return [];
  const asked = answer.then(take, (error: unknown) => {
    if (errorKind(error) === 'user') refuse(error);
  });
  return [asked];
}
