/** Thrown when the engine contradicts itself: a bug of Weir, never a mistake of its user. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** Stops a contradiction at the place where it shows. Stays on in production. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Marks a branch that the types say cannot be reached. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`);
}
