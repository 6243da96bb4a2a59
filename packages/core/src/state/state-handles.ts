/** Joins the handles of keyed and operator state into the one `ctx.state` of a function. */
import type { StateDeclaration, StateHandles } from '../api/state.ts';
import { GraphValidationError } from '../base/errors.ts';
import type { KeyedStateBackend } from './keyed-state-backend.ts';
import type { OperatorStateBackend } from './operator/operator-state-backend.ts';

/**
 * Handles of all states in `declaration`. `keyed` is null for an operator that has no key: keyed
 * states in the declaration are then refused with `GraphValidationError`.
 */
export function createStateHandles<S extends StateDeclaration>(
  declaration: S,
  keyed: KeyedStateBackend | null,
  operator: OperatorStateBackend,
): StateHandles<S> {
  const handles: Record<string, unknown> = {
    ...keyed?.handlesFor(declaration),
    ...operator.handlesFor(declaration),
  };
  for (const [name, { kind }] of Object.entries(declaration))
    if (!(name in handles))
      throw new GraphValidationError(
        `${operator.operatorName} declares ${kind} state "${name}", which belongs to a key, but ` +
          'its input has none; call keyBy before it, or declare operator state',
        { details: { operator: operator.operatorName, state: name } },
      );
  // A handle for every name, of the class that its descriptor's kind asks for.
  return handles as StateHandles<S>;
}
