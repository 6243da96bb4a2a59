/**
 * Whether the values of a snapshot can be read as the job declares its states now: found out before
 * anything is started, by the types that the snapshot tells of and by really reading a sample.
 */
import type { StateDeclaration, StateDescriptor } from '../api/state.ts';
import type { StreamGraph } from '../api/stream-graph.ts';
import { describeNode } from '../graph/operator-facts.ts';
import type { JobGraph } from '../protocol/job-graph.ts';
import type { OperatorSnapshot, StateHandle } from '../protocol/snapshot.ts';
import { Unmigrated } from '../state/heap/unmigrated.ts';
import { readKeyed } from '../state/snapshot/read-keyed.ts';
import type { Evolve } from '../state/state-evolution.ts';
import { evolutionOf, versionOf } from '../state/state-evolution.ts';
import type { StorageIo } from '../storage/storage-io.ts';
import type { StoredSnapshot } from '../storage/stored-snapshot.ts';

/** What becomes of one stored state. */
export interface StateFinding {
  /** `"totals" (orders.ts:14)`. */
  readonly operator: string;
  readonly state: string;
  readonly kind: string;
  /** `evolves`: values go through a migration or a schema. */
  readonly fate: 'as it is' | 'evolves' | 'dropped';
  readonly storedVersion: number;
  readonly declaredVersion: number | null;
  /** Keys of the sample whose values were read. */
  readonly sampled: number;
}

export interface CheckOptions {
  /** Keys of each operator and subtask that are read; 0: none. */
  readonly sampleMax: number;
  /** Reads a sample of states that stay as they are, too. */
  readonly readsAll: boolean;
}

interface Job {
  readonly jobGraph: JobGraph;
  readonly streamGraph: StreamGraph;
}

interface Planned {
  readonly finding: StateFinding;
  readonly evolve: Evolve | null;
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
        const states = node === undefined ? null : statesOf(node.spec);
        if (node === undefined || states === null) continue;
        const plans = planOf(describeNode(node), stored, states);
        const sampled = await sample({ ...io, directory }, { data, stored, plans }, options);
        for (const { finding } of plans) {
          const key = `${finding.operator} ${finding.state}`;
          const before = findings.get(key)?.sampled ?? 0;
          findings.set(key, { ...finding, sampled: before + sampled });
        }
      }
  return [...findings.values()];
}

/** The states that the code of the job declares; `null`: all state is the engine's own. */
function statesOf(spec: object): StateDeclaration | null {
  const { fn, broadcast } = spec as {
    readonly fn?: { readonly state?: StateDeclaration };
    readonly broadcast?: StateDeclaration;
  };
  if (fn?.state === undefined && broadcast === undefined) return null;
  return { ...fn?.state, ...broadcast };
}

function planOf(
  operator: string,
  stored: OperatorSnapshot,
  states: StateDeclaration,
): readonly Planned[] {
  const all = [
    ...(stored.keyed?.states ?? []),
    ...stored.operatorStates.map(({ mode, version = 1, ...state }) => ({
      ...state,
      kind: mode,
      version,
    })),
  ];
  return all.map(({ name, kind, version, schema = null }): Planned => {
    const descriptor = states[name];
    const facts = { operator, state: name, kind, storedVersion: version, sampled: 0 };
    if (descriptor === undefined)
      return { finding: { ...facts, fate: 'dropped', declaredVersion: null }, evolve: null };
    const evolve = evolutionOf(
      operator,
      { name, kind, version, schema },
      { kind: kindOf(descriptor), evolution: descriptor.evolution },
    );
    const fate = evolve === null ? 'as it is' : 'evolves';
    const declaredVersion = versionOf(descriptor.evolution);
    return { finding: { ...facts, fate, declaredVersion }, evolve };
  });
}

function kindOf(descriptor: StateDescriptor): string {
  return descriptor.kind === 'operatorList' ? descriptor.mode : descriptor.kind;
}

/** Reads keys as a restore would; returns how many. */
async function sample(
  environment: StorageIo & { readonly directory: string },
  part: {
    readonly data: StateHandle | null;
    readonly stored: OperatorSnapshot;
    readonly plans: readonly Planned[];
  },
  { sampleMax, readsAll }: CheckOptions,
): Promise<number> {
  const { data, stored, plans } = part;
  const isWanted = readsAll || plans.some(({ evolve }) => evolve !== null);
  if (data === null || stored.keyed === null || sampleMax === 0 || !isWanted) return 0;
  let read = 0;
  const { keyGroups, states } = stored.keyed;
  for await (const { key, states: contents } of readKeyed(environment, data, stored, keyGroups)) {
    for (const { name, kind } of states) {
      const evolve = plans.find(({ finding }) => finding.state === name)?.evolve ?? null;
      if (evolve !== null && name in contents)
        new Unmigrated(contents[name], kind, evolve).migrate(` under key ${String(key)}`);
    }
    if (++read >= sampleMax) break;
  }
  return read;
}
