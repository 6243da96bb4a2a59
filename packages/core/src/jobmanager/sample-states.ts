/**
 * Reads a sample of the stored values of one operator in one subtask as a restore would: migrates
 * them, passes them through schemas, and compares what neither covers with what the code of the job
 * says of its type.
 */
import { decodeValue, encodeValue } from '../base/codec/value-codec.ts';
import { messageOf, StateMigrationError } from '../base/errors.ts';
import type { OperatorSnapshot, StateHandle } from '../protocol/snapshot.ts';
import { Unmigrated } from '../state/heap/unmigrated.ts';
import { readKeyed } from '../state/snapshot/read-keyed.ts';
import type { SnapshotEnvironment } from '../state/snapshot/state-data-reader.ts';
import { StateDataReader } from '../state/snapshot/state-data-reader.ts';
import { mismatchOf, missingFields, shapeOf, shapeText } from '../state/value-shape.ts';
import type { Shape } from '../state/value-shape.ts';
import type { StatePlan } from './state-plan.ts';

/** Items of a list or map under one key whose kinds are looked at. */
const ITEMS_MAX = 10;
/** Kinds of values that are remembered of one state. */
const SHAPES_MAX = 8;

/** What was seen of one state. */
export interface StateSample {
  /** Keys, or items of operator state. */
  read: number;
  /** As text, those met first. */
  readonly shapes: Set<string>;
  /** Fields that the code expects and some values have not. */
  readonly missing: Set<string>;
}

export interface SampledPart {
  readonly data: StateHandle;
  readonly stored: OperatorSnapshot;
  readonly plans: readonly StatePlan[];
}

/**
 * By name of state.
 * @throws StateMigrationError naming operator, state, key, and both types.
 */
export async function sampleStates(
  environment: SnapshotEnvironment,
  part: SampledPart,
  sampleMax: number,
): Promise<ReadonlyMap<string, StateSample>> {
  const samples = new Map<string, StateSample>();
  await sampleKeyed(environment, part, { samples, sampleMax });
  await sampleItems(environment, part, { samples, sampleMax });
  return samples;
}

interface Sampling {
  readonly samples: Map<string, StateSample>;
  readonly sampleMax: number;
}

async function sampleKeyed(
  environment: SnapshotEnvironment,
  { data, stored, plans }: SampledPart,
  { samples, sampleMax }: Sampling,
): Promise<void> {
  if (stored.keyed === null) return;
  const { keyGroups, states } = stored.keyed;
  const planned = states.map(({ name, kind }) => ({
    name,
    kind,
    plan: plans.find(({ state }) => state === name),
    sample: sampleOf(samples, name),
  }));
  let read = 0;
  for await (const { key, states: contents } of readKeyed(environment, data, stored, keyGroups)) {
    for (const { name, kind, plan, sample } of planned) {
      sample.read++;
      if (plan === undefined || !(name in contents)) continue;
      const where = ` under key ${String(key)}`;
      const content = contents[name];
      if (plan.evolve === null) lookAt(plan, sample, valuesIn(kind, content), where);
      else
        checkEvolved(
          plan,
          valuesIn(kind, new Unmigrated(content, kind, plan.evolve).migrate(where)),
          where,
        );
    }
    if (++read >= sampleMax) return;
  }
}

async function sampleItems(
  environment: SnapshotEnvironment,
  { data, stored, plans }: SampledPart,
  { samples, sampleMax }: Sampling,
): Promise<void> {
  const filled = stored.operatorStates.filter(({ items }) => items.length > 0);
  if (filled.length === 0) return;
  const reader = await StateDataReader.open(environment, data);
  try {
    for (const { name, mode, items } of filled) {
      const plan = plans.find(({ state }) => state === name);
      if (plan === undefined) continue;
      const sample = sampleOf(samples, name);
      for (const section of items.slice(0, sampleMax)) {
        const item = decodeValue(await reader.read(section, `state "${name}" of ${plan.operator}`));
        const [key, value] = mode === 'broadcast' ? (item as [unknown, unknown]) : [null, item];
        const where = mode === 'broadcast' ? ` under key ${String(key)}` : '';
        sample.read++;
        if (plan.evolve === null) lookAt(plan, sample, [value], where);
        else checkEvolved(plan, [plan.evolve(value, where)], where);
      }
    }
  } finally {
    await reader.close();
  }
}

function lookAt(
  plan: StatePlan,
  sample: StateSample,
  values: Iterable<unknown>,
  where: string,
): void {
  if (plan.hasSchema || plan.declaredVersion === null) return;
  let count = 0;
  for (const value of values) {
    if (count++ >= ITEMS_MAX) return;
    const shape = shapeOf(value);
    if (sample.shapes.size < SHAPES_MAX) sample.shapes.add(shapeText(shape));
    compare(plan, sample, shape, where);
  }
}

function compare(plan: StatePlan, sample: StateSample, stored: Shape, where: string): void {
  const { operator, state, declared, isSaidAlike, canMigrate, storedVersion } = plan;
  if (declared === null || declared.witness === null || isSaidAlike) return;
  for (const field of missingFields(stored, declared.shape)) sample.missing.add(field);
  const mismatch = mismatchOf(stored, declared.shape);
  if (mismatch === null) return;
  const { path } = mismatch;
  const what = path === '' ? 'a value' : `field "${path}" of a value`;
  const advice = canMigrate
    ? `give the state version: ${storedVersion + 1} and migrate: { ${storedVersion}: (stored) => ` +
      '… }; if its type holds both, give it a schema that says so'
    : 'its state cannot migrate: give the operator another uid and drop the old state with -n, ' +
      'or keep the accumulator in aggregatingState of a process function, which can';
  throw new StateMigrationError(
    `${what} of state "${state}" of ${operator}${where} is stored as ${mismatch.stored}, but the ` +
      `${declared.witness} of the state is now ${mismatch.declared}, without a new version of ` +
      `its type: ${advice}`,
    {
      details: {
        operator,
        state,
        path,
        stored: mismatch.stored,
        declared: mismatch.declared,
        version: storedVersion,
      },
    },
  );
}

/** Whether what a migration or schema has made can be stored, and is what the code says it is. */
function checkEvolved(plan: StatePlan, values: Iterable<unknown>, where: string): void {
  let count = 0;
  for (const value of values) {
    if (count++ >= ITEMS_MAX) return;
    const wrong = faultOf(plan, value);
    if (wrong === null) continue;
    const { operator, state, storedVersion, declaredVersion } = plan;
    const isMigrated = storedVersion !== declaredVersion;
    const maker = isMigrated ? `migrate[${storedVersion}]` : 'the schema';
    throw new StateMigrationError(
      `${maker} of state "${state}" of ${operator} makes of a value${where} one that ${wrong}`,
      { details: { operator, state, version: storedVersion } },
    );
  }
}

function faultOf({ declared, kind }: StatePlan, value: unknown): string | null {
  try {
    encodeValue(value);
  } catch (error) {
    return `cannot be stored: ${messageOf(error)}`;
  }
  if (declared === null || declared.witness === null) return null;
  const { shape, witness } = declared;
  if (kind === 'value' && value === undefined)
    return `is undefined, but the ${witness} of the state is ${shapeText(shape)}: return a value`;
  const mismatch = mismatchOf(shapeOf(value), shape);
  if (mismatch === null) return null;
  const { path, stored, declared: wanted } = mismatch;
  const field = path === '' ? 'is' : `has field "${path}" as`;
  return (
    `${field} ${stored}, but the ${witness} of the state has ${wanted}: mend it, or if the type ` +
    'holds both, give the state a schema that says so'
  );
}

function sampleOf(samples: Map<string, StateSample>, name: string): StateSample {
  let sample = samples.get(name);
  if (sample === undefined) {
    sample = { read: 0, shapes: new Set(), missing: new Set() };
    samples.set(name, sample);
  }
  return sample;
}

function valuesIn(kind: string, content: unknown): Iterable<unknown> {
  if (kind === 'list') return content as readonly unknown[];
  if (kind === 'map') return (content as ReadonlyMap<unknown, unknown>).values();
  return [content];
}
