/**
 * How the type of a state may change between two versions of a job. A state carries the version of
 * its type; values of an older one are brought to the present one by a function of the job, each
 * when it is read for the first time, or by the first snapshot. A schema describes the type at run
 * time: any validator that follows Standard Schema (zod, valibot, arktype, …).
 */
import { GraphValidationError } from '../base/errors.ts';

/** What Standard Schema (version 1) asks of a validator, as far as states need it. */
export interface StandardSchema<T> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<T> | Promise<StandardResult<T>>;
    readonly types?: { readonly input: unknown; readonly output: T } | undefined;
  };
}

export type StandardResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export interface StateEvolution<T> {
  /** Of the type of the values; 1 by default. Only rises. */
  readonly version?: number;
  /**
   * Describes the type. Values that were stored under another schema are checked by it, which also
   * fills in its defaults; one that does not fit keeps the job from starting.
   */
  readonly schema?: StandardSchema<T>;
  /**
   * By older version: brings a value of it to the present version. Called once for each value. It
   * must depend on nothing but the value.
   */
  readonly migrate?: Readonly<Record<number, (stored: never) => T>>;
}

/** @throws GraphValidationError when the parts do not fit together. */
export function checkEvolution(what: string, evolution: StateEvolution<unknown> | undefined): void {
  if (evolution === undefined) return;
  const { version = 1, schema, migrate = {} } = evolution;
  if (!Number.isInteger(version) || version < 1)
    throw new GraphValidationError(`${what}: version ${version} must be a whole number from 1 on`);
  if (schema !== undefined && typeof schema['~standard']?.validate !== 'function')
    throw new GraphValidationError(
      `${what}: schema must be a validator that follows Standard Schema, such as z.object({ … })`,
    );
  for (const [from, migration] of Object.entries(migrate)) {
    if (typeof migration !== 'function')
      throw new GraphValidationError(`${what}: migrate[${from}] must be a function (stored) => …`);
    if (!(Number(from) >= 1 && Number(from) < version))
      throw new GraphValidationError(
        `${what}: migrate[${from}] is for a version that is not older than version ${version}`,
      );
  }
}
