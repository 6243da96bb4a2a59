/**
 * Puts something wrong in the place of one method of the engine, for planted bugs: the engine
 * itself knows nothing of them.
 */

/** Replaces a method; the result puts it back. */
export function substituteMethod<T extends object, K extends keyof T>(
  target: T,
  name: K,
  make: (original: T[K]) => T[K],
): () => void {
  const original = target[name];
  target[name] = make(original);
  return () => {
    target[name] = original;
  };
}

/** Replaces a getter of a class; the result puts it back. */
export function substituteGetter<T extends object>(
  target: T,
  name: keyof T & string,
  get: (this: T) => unknown,
): () => void {
  const original = Object.getOwnPropertyDescriptor(target, name);
  if (original === undefined) throw new Error(`there is no getter ${name}`);
  Object.defineProperty(target, name, { ...original, get });
  return () => {
    Object.defineProperty(target, name, original);
  };
}
