/** Joins the handles of keyed and operator state into the one `ctx.state` of a function. */
import type { StateDeclaration, StateHandles } from '../api/state.ts';
import type { KeyedStateBackend } from './keyed-state-backend.ts';
import type { OperatorStateBackend } from './operator/operator-state-backend.ts';

/** `keyed` is null for operators without a key; keyed states in the declaration then throw. */
export function createStateHandles<S extends StateDeclaration>(
  declaration: S,
  keyed: KeyedStateBackend | null,
  operator: OperatorStateBackend,
): StateHandles<S> {
  return {
    ...keyed?.handlesFor(declaration),
    ...operator.handlesFor(declaration),
  } as unknown as StateHandles<S>;
}
