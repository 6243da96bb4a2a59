/**
 * Whether values of a stored state can be read as the state is declared now, and how. Used by the
 * backends when they restore, and before a job starts to refuse what does not fit. Pure.
 */
import { Buffer } from 'node:buffer';
import type { StandardResult, StandardSchema, StateEvolution } from '../api/state-evolution.ts';
import { encodeValue } from '../base/codec/value-codec.ts';
import { messageOf, StateMigrationError } from '../base/errors.ts';

/** A state as a snapshot tells of it. */
export interface StoredStateType {
  readonly name: string;
  /** `value`, `map`, …, or the mode of an operator state. */
  readonly kind: string;
  readonly version: number;
  readonly schema: string | null;
}

/** A state as the job declares it. */
export interface DeclaredStateType {
  readonly kind: string;
  readonly evolution: StateEvolution<unknown> | undefined;
}

/** Brings one value to the declared type. `where` names key and the like for messages. */
export type Evolve = (stored: unknown, where: string) => unknown;

/** JSON Schema as text; `null` where the validator cannot give one. */
export function schemaText(evolution: StateEvolution<unknown> | undefined): string | null {
  const standard = evolution?.schema?.['~standard'] as
    | { readonly jsonSchema?: { readonly output?: (options: object) => object } }
    | undefined;
  try {
    const schema = standard?.jsonSchema?.output?.({ target: 'draft-2020-12' });
    return schema === undefined ? null : JSON.stringify(schema);
  } catch {
    // What JSON Schema cannot say, such as a bigint: the validator alone decides then.
    return null;
  }
}

export function versionOf(evolution: StateEvolution<unknown> | undefined): number {
  return evolution?.version ?? 1;
}

/**
 * `null`: values are read as they are. Throws `StateMigrationError` when the stored state cannot be
 * read as it is declared.
 */
export function evolutionOf(
  operator: string,
  stored: StoredStateType,
  declared: DeclaredStateType,
): Evolve | null {
  const { evolution } = declared;
  const details = { operator, state: stored.name };
  if (stored.kind !== declared.kind)
    throw new StateMigrationError(
      `state "${stored.name}" of ${operator} was stored as ${stored.kind} state and is declared ` +
        `as ${declared.kind} state; give the new state another name, or declare it as before`,
      { details: { ...details, stored: stored.kind, declared: declared.kind } },
    );
  const version = versionOf(evolution);
  const schema = evolution?.schema;
  if (stored.version === version) {
    if (schema === undefined) return null;
    const text = schemaText(evolution);
    if (text !== null && text === stored.schema) return null;
    return (value, where) => validated(schema, value, { operator, stored, text, where });
  }
  if (stored.version > version)
    throw new StateMigrationError(
      `state "${stored.name}" of ${operator} was stored with version ${stored.version} of its ` +
        `type and is declared with version ${version}: it was written by a newer job, whose ` +
        'version must be used',
      { details: { ...details, stored: stored.version, declared: version } },
    );
  const migrate = evolution?.migrate?.[stored.version];
  if (migrate === undefined)
    throw new StateMigrationError(
      `state "${stored.name}" of ${operator} was stored with version ${stored.version} of its ` +
        `type and is declared with version ${version}, without a migration: give it ` +
        `migrate: { ${stored.version}: (stored) => … }`,
      { details: { ...details, stored: stored.version, declared: version } },
    );
  const text = schemaText(evolution);
  return (value, where) => {
    const migrated = runMigration(migrate, value, { operator, stored, where });
    return schema === undefined
      ? migrated
      : validated(schema, migrated, { operator, stored, text, where });
  };
}

interface Place {
  readonly operator: string;
  readonly stored: StoredStateType;
  readonly where: string;
}

function runMigration(
  migrate: (stored: never) => unknown,
  value: unknown,
  { operator, stored, where }: Place,
): unknown {
  const details = { operator, state: stored.name, version: stored.version };
  let migrated: unknown;
  try {
    migrated = migrate(value as never);
  } catch (error) {
    throw new StateMigrationError(
      `the migration of state "${stored.name}" of ${operator} from version ${stored.version} ` +
        `threw${where}: ${messageOf(error)}; mend migrate[${stored.version}] so that it takes ` +
        'every stored value, or start the version of the job that stored it',
      { cause: error, details },
    );
  }
  if (!isPromise(migrated)) return migrated;
  throw new StateMigrationError(
    `the migration of state "${stored.name}" of ${operator} from version ${stored.version} ` +
      `returned a promise${where}; states are read synchronously: make migrate` +
      `[${stored.version}] a function that is not async`,
    { details },
  );
}

/** Also of what is none by its class but can be awaited. A rejection is reported here alone. */
function isPromise(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof Promise) value.catch(() => undefined);
  return value instanceof Promise || typeof (value as { then?: unknown }).then === 'function';
}

function validated(
  schema: StandardSchema<unknown>,
  value: unknown,
  place: Place & { readonly text: string | null },
): unknown {
  const { operator, stored, text, where } = place;
  const result = validate(schema, value, place);
  if (result.issues === undefined) {
    // Without a text to tell it by, the schema goes over its own values at every later start.
    if (text === null) requireSettled(schema, { value, made: result.value }, place);
    return result.value;
  }
  const [issue] = result.issues;
  const path = (issue?.path ?? [])
    .map((part) => String(typeof part === 'object' ? part.key : part))
    .join('.');
  const what = `${path === '' ? '' : `${path}: `}${issue?.message ?? 'it does not fit'}`;
  throw new StateMigrationError(
    `a value of state "${stored.name}" of ${operator}${where} does not fit the declared schema: ` +
      `${what}; stored schema: ${stored.schema ?? 'none was recorded'}; declared schema: ` +
      `${text ?? 'it cannot be shown'}; give the state a higher version and a migration`,
    {
      details: { operator, state: stored.name, storedSchema: stored.schema, declaredSchema: text },
    },
  );
}

function validate(
  schema: StandardSchema<unknown>,
  value: unknown,
  { operator, stored }: Place,
): StandardResult<unknown> {
  const result = schema['~standard'].validate(value);
  if (!(result instanceof Promise)) return result;
  result.catch(() => undefined);
  throw new StateMigrationError(
    `the schema of state "${stored.name}" of ${operator} checks asynchronously; states are ` +
      'read synchronously',
  );
}

/** Throws where the schema would change, or refuse, what it has made of a value itself. */
function requireSettled(
  schema: StandardSchema<unknown>,
  { value, made }: { readonly value: unknown; readonly made: unknown },
  place: Place,
): void {
  if (isSame(made, value)) return;
  const again = validate(schema, made, place);
  if (again.issues === undefined && isSame(again.value, made)) return;
  const { operator, stored, where } = place;
  throw new StateMigrationError(
    `the schema of state "${stored.name}" of ${operator} ` +
      `${again.issues === undefined ? 'changes' : 'does not take'} what it has itself made of a ` +
      `value${where}: each start would apply it once more. Let the schema describe the type ` +
      'only, and change values by a higher version and a migration',
    { details: { operator, state: stored.name } },
  );
}

/** By what would be stored of them. */
function isSame(a: unknown, b: unknown): boolean {
  return Object.is(a, b) || Buffer.compare(encodeValue(a), encodeValue(b)) === 0;
}
