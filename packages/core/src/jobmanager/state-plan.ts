/**
 * How each stored state of an operator is to be read as the job declares it now. Pure, but for the
 * functions of the job that make a state's first value.
 */
import type { StateDeclaration, StateDescriptor } from '../api/state.ts';
import type { OperatorSpec } from '../api/stream-graph.ts';
import { rollingState } from '../graph/rolling-state.ts';
import type { OperatorSnapshot } from '../protocol/snapshot.ts';
import { declaredShapeOf } from '../state/declared-shape.ts';
import type { DeclaredShape } from '../state/declared-shape.ts';
import type { Evolve } from '../state/state-evolution.ts';
import { evolutionOf, versionOf } from '../state/state-evolution.ts';

/** One stored state. */
export interface StatePlan {
  /** `"totals" (orders.ts:14)`. */
  readonly operator: string;
  readonly state: string;
  readonly kind: string;
  readonly scope: 'keyed' | 'operator';
  readonly storedVersion: number;
  /** `null`: it is declared no more. */
  readonly declaredVersion: number | null;
  /** Brings a value to the declared type; `null`: values are read as they are. */
  readonly evolve: Evolve | null;
  readonly hasSchema: boolean;
  /** What the code says of the type; `null` where a schema decides, or nothing. */
  readonly declared: DeclaredShape | null;
  /** The code says of it what it said when the snapshot was taken. */
  readonly isSaidAlike: boolean;
  /** Whether `version` and `migrate` can be given to it. */
  readonly canMigrate: boolean;
}

/** The states that the code of the job decides on; `null`: all state is the engine's own. */
export function declaredStates(spec: OperatorSpec): StateDeclaration | null {
  if (spec.type === 'keyedReduce') return rollingState(null);
  if (spec.type === 'keyedAggregate') return rollingState(spec.aggregate);
  const { fn, broadcast } = spec as {
    readonly fn?: { readonly state?: StateDeclaration };
    readonly broadcast?: StateDeclaration;
  };
  if (fn?.state === undefined && broadcast === undefined) return null;
  return { ...fn?.state, ...broadcast };
}

/** @throws StateMigrationError naming operator, state and both types when one does not fit. */
export function plansOf(
  operator: string,
  stored: OperatorSnapshot,
  { spec, states }: { readonly spec: OperatorSpec; readonly states: StateDeclaration },
): readonly StatePlan[] {
  const canMigrate = spec.type !== 'keyedReduce' && spec.type !== 'keyedAggregate';
  return storedStates(stored).map((it): StatePlan => {
    const { name, kind, scope, version, schema = null, shape } = it;
    const descriptor = states[name];
    const facts = { operator, state: name, kind, scope, storedVersion: version, canMigrate };
    if (descriptor === undefined)
      return {
        ...facts,
        declaredVersion: null,
        evolve: null,
        hasSchema: false,
        declared: null,
        isSaidAlike: true,
      };
    const { evolution } = descriptor;
    const type = { kind: kindOf(descriptor), evolution };
    const evolve = evolutionOf(operator, { name, kind, version, schema }, type);
    const hasSchema = evolution?.schema !== undefined;
    const declared = hasSchema ? null : declaredShapeOf(descriptor);
    return {
      ...facts,
      declaredVersion: versionOf(evolution),
      evolve,
      hasSchema,
      declared,
      isSaidAlike: !tells(declared) || shape === JSON.stringify(declared.shape),
    };
  });
}

function tells(declared: DeclaredShape | null): declared is DeclaredShape {
  return declared !== null && declared.witness !== null;
}

interface StoredState {
  readonly name: string;
  readonly kind: string;
  readonly scope: 'keyed' | 'operator';
  readonly version: number;
  readonly schema?: string;
  readonly shape?: string;
}

function storedStates({ keyed, operatorStates }: OperatorSnapshot): readonly StoredState[] {
  const ofKeys = (keyed?.states ?? []).map((state) => ({ ...state, scope: 'keyed' as const }));
  const ofSubtask = operatorStates.map(({ mode, version = 1, ...state }) => ({
    ...state,
    kind: mode,
    scope: 'operator' as const,
    version,
  }));
  return [...ofKeys, ...ofSubtask];
}

function kindOf(descriptor: StateDescriptor): string {
  return descriptor.kind === 'operatorList' ? descriptor.mode : descriptor.kind;
}
