/**
 * What the code of a job says of the type of a state's values without a schema: by the value that
 * stands where there is none yet. Calls functions of the job, which must only make that value.
 */
import type { StateDescriptor } from '../api/state.ts';
import { shapeOf } from './value-shape.ts';
import type { Shape } from './value-shape.ts';

/** What tells it, in words; `null`: nothing does. */
export type ShapeWitness = 'default' | 'first accumulator' | null;

export interface DeclaredShape {
  /** What was made to find out. */
  readonly value: unknown;
  /** `undefined` for a value state without a default. */
  readonly shape: Shape;
  readonly witness: ShapeWitness;
}

/** `null`: the kind of state has nothing that would tell. */
export function declaredShapeOf(descriptor: StateDescriptor): DeclaredShape | null {
  switch (descriptor.kind) {
    case 'value': {
      const { default: value } = descriptor;
      return declared('default', () => (typeof value === 'function' ? value() : value));
    }
    case 'aggregating':
      return declared('first accumulator', () => descriptor.aggregate.createAccumulator());
    default:
      return null;
  }
}

function declared(witness: 'default' | 'first accumulator', make: () => unknown): DeclaredShape {
  let value: unknown;
  try {
    value = make();
  } catch {
    // It will throw again where the value is needed, and is then reported with its place.
  }
  const tells = value !== undefined && value !== null;
  return { value, shape: shapeOf(value), witness: tells ? witness : null };
}
