/**
 * Whether the values of a snapshot can be read as the job declares its states now: found out before
 * anything is started, by the types that the snapshot tells of and by really reading a sample.
 */
import type { StreamGraph } from '../api/stream-graph.ts';
import { describeNode } from '../graph/operator-facts.ts';
import type { JobGraph } from '../protocol/job-graph.ts';
import type { OperatorSnapshot, StateHandle } from '../protocol/snapshot.ts';
import type { StorageIo } from '../storage/storage-io.ts';
import type { StoredSnapshot } from '../storage/stored-snapshot.ts';
import { sampleStates } from './sample-states.ts';
import type { StateSample } from './sample-states.ts';
import { declaredStates, plansOf } from './state-plan.ts';
import type { StatePlan } from './state-plan.ts';

/** What becomes of one stored state. */
export interface StateFinding {
  /** `"totals" (orders.ts:14)`. */
  readonly operator: string;
  readonly state: string;
  readonly kind: string;
  readonly scope: 'keyed' | 'operator';
  /** `evolves`: values go through a migration or a schema. */
  readonly fate: 'as it is' | 'evolves' | 'dropped';
  readonly storedVersion: number;
  readonly declaredVersion: number | null;
  /** Keys of the sample, or items of operator state, whose values were read. */
  readonly sampled: number;
  /** Kinds of the values met in the sample, where no schema says them. */
  readonly storedTypes: readonly string[];
  /** What the type of the values was compared with; `null`: the code says nothing of it. */
  readonly checkedBy: 'schema' | 'version' | 'default' | 'first accumulator' | null;
  /** Fields that the code expects and some stored values have not. */
  readonly missingFields: readonly string[];
}

export interface CheckOptions {
  /** Keys of each operator and subtask that are read; 0: none. */
  readonly sampleMax: number;
  /** Reads a sample of states of which nothing has changed, too. */
  readonly readsAll: boolean;
}

interface Job {
  readonly jobGraph: JobGraph;
  readonly streamGraph: StreamGraph;
}

/** @throws StateMigrationError naming operator, state and both types when one does not fit. */
export async function checkStateTypes(
  io: StorageIo,
  { metadata, directory }: StoredSnapshot,
  { jobGraph, streamGraph }: Job,
  options: CheckOptions,
): Promise<readonly StateFinding[]> {
  const findings = new Map<string, StateFinding>();
  const declared = new Map(
    jobGraph.vertices.flatMap(({ operators }) =>
      operators.map((operator) => [operator.operatorId, operator.node] as const),
    ),
  );
  for (const vertex of metadata.vertices)
    for (const { data, operators } of vertex.subtasks)
      for (const stored of operators) {
        const node = streamGraph.nodes.find(({ id }) => id === declared.get(stored.operatorId));
        const states = node === undefined ? null : declaredStates(node.spec);
        if (node === undefined || states === null) continue;
        const plans = plansOf(describeNode(node), stored, { spec: node.spec, states });
        const samples = await sample({ ...io, directory }, { data, stored, plans }, options);
        for (const plan of plans) {
          const key = `${plan.operator} ${plan.state}`;
          findings.set(key, findingOf(plan, samples.get(plan.state), findings.get(key)));
        }
      }
  return [...findings.values()];
}

async function sample(
  environment: StorageIo & { readonly directory: string },
  part: {
    readonly data: StateHandle | null;
    readonly stored: OperatorSnapshot;
    readonly plans: readonly StatePlan[];
  },
  { sampleMax, readsAll }: CheckOptions,
): Promise<ReadonlyMap<string, StateSample>> {
  const { data, plans } = part;
  const isWanted = readsAll || plans.some((plan) => plan.evolve !== null || !plan.isSaidAlike);
  if (data === null || sampleMax === 0 || !isWanted) return new Map();
  return sampleStates(environment, { ...part, data }, sampleMax);
}

/** @param before Of the same state in another subtask. */
function findingOf(
  { evolve, declared, hasSchema, canMigrate: _, isSaidAlike: __, ...facts }: StatePlan,
  seen: StateSample | undefined,
  before: StateFinding | undefined,
): StateFinding {
  const { declaredVersion, storedVersion } = facts;
  const fate = declaredVersion === null ? 'dropped' : evolve === null ? 'as it is' : 'evolves';
  return {
    ...facts,
    fate,
    sampled: (before?.sampled ?? 0) + (seen?.read ?? 0),
    storedTypes: union(before?.storedTypes, seen?.shapes),
    checkedBy: hasSchema
      ? 'schema'
      : storedVersion !== declaredVersion
        ? 'version'
        : (declared?.witness ?? null),
    missingFields: union(before?.missingFields, seen?.missing),
  };
}

function union(
  a: readonly string[] | undefined = [],
  b: Iterable<string> | undefined = [],
): readonly string[] {
  return [...new Set([...a, ...b])];
}
