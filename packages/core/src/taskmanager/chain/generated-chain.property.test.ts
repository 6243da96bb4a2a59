import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { OperatorSpec } from '../../api/stream-graph.ts';
import { chainOf } from './chain-fixture.ts';
import type { Link } from './chain-fixture.ts';

interface Item {
  readonly key: number;
  readonly n: unknown;
}

const SIDE = { id: 'side' };
/** Types of records that a function gives now and then, and that no other expects. */
const ODD: readonly unknown[] = [
  undefined,
  null,
  'text',
  { '__proto__ ': 1 },
  [],
  1n,
  Symbol.iterator,
];

/** What a function does with a record, by what the record is: nothing here is chance. */
interface Plan {
  readonly type: 'map' | 'filter' | 'flatMap' | 'process' | 'keyedProcess' | 'keyedReduce';
  readonly salt: number;
  /** For so many of 100 records it throws. */
  readonly throws: number;
  readonly swallows: boolean;
}

function mix(item: unknown, salt: number): number {
  const text = JSON.stringify(item, (_, part: unknown) => (typeof part === 'bigint' ? 'n' : part));
  let hash = salt;
  for (const character of text ?? 'none')
    hash = Math.imul(hash ^ character.charCodeAt(0), 0x9e3779b1);
  return (hash >>> 8) % 100;
}

function check(item: unknown, { salt, throws }: Plan): number {
  const chance = mix(item, salt);
  if (chance < throws) throw new RangeError(`not ${chance}`);
  return chance;
}

function next(item: unknown, chance: number): Item {
  const key = typeof item === 'object' && item !== null && 'key' in item ? (item as Item).key : 0;
  return { key: (key + chance) % 5, n: chance % 9 === 0 ? ODD[chance % ODD.length] : chance };
}

/** Emits, and takes no heed of what comes of it where its plan is to swallow. */
function emitting({ swallows }: Plan, emit: (result: unknown) => void): typeof emit {
  return (result) => {
    try {
      emit(result);
    } catch (error) {
      if (!swallows) throw error;
    }
  };
}

function specOf(plan: Plan): OperatorSpec {
  const { type } = plan;
  switch (type) {
    case 'map':
      return { type, fn: { map: (item) => next(item, check(item, plan)) } };
    case 'filter':
      return { type, fn: { filter: (item) => (check(item, plan) % 3) as unknown as boolean } };
    case 'flatMap':
      return {
        type,
        fn: {
          flatMap(item, emit) {
            const chance = check(item, plan);
            if (chance % 2 === 0) emitting(plan, emit)(next(item, chance));
            if (chance % 5 === 0) return undefined;
            if (chance % 7 === 0) return several(item, chance);
            return new Set([next(item, chance + 1)]);
          },
        },
      };
    case 'process':
      return {
        type,
        fn: {
          onElement(item: unknown, context) {
            const chance = check(item, plan);
            const emit = emitting(plan, (it) => context.emit(it));
            if (chance % 3 > 0) emit(next(item, chance));
            if (chance % 4 === 0)
              emitting(plan, (it) => context.output(SIDE, it))([context.timestamp, item]);
            if (chance % 5 === 0) emit(next(item, chance + 2));
          },
          onEndOfInput: (context) => context.emit({ key: 1, n: 'end' }),
        },
      };
    case 'keyedProcess':
      return {
        type,
        fn: {
          onElement(item: unknown, context) {
            const chance = check(item, plan);
            context.timerService.registerEventTimeTimer(chance);
            emitting(plan, (it) => context.emit(it))(next(item, chance + Number(context.key)));
          },
          onTimer(timestamp, context) {
            context.emit({ key: context.key, n: timestamp });
          },
        },
      };
    case 'keyedReduce':
      return {
        type,
        reduce: (a, b) => ({ ...next(b, check([a, b], plan)), key: (b as Item).key }),
      };
  }
}

function* several(item: unknown, chance: number): Generator<Item> {
  for (let i = 0; i < chance % 4; i++) yield next(item, i);
}

const plan: fc.Arbitrary<Plan> = fc.record({
  type: fc.constantFrom('map', 'filter', 'flatMap', 'process', 'keyedProcess', 'keyedReduce'),
  salt: fc.nat(),
  throws: fc.constantFrom(0, 0, 0, 2),
  swallows: fc.boolean(),
});

/** A tree: each operator stands behind one that came before it. */
const links: fc.Arbitrary<readonly Link[]> = fc
  .array(fc.tuple(plan, fc.nat(), fc.boolean()), { minLength: 1, maxLength: 40, size: 'medium' })
  .map((parts) =>
    parts.map(([it, place, isSide], index) => {
      const behind = index === 0 ? 0 : Math.max(0, index - 1 - (place % 3));
      const isOfSide = isSide && parts[behind]?.[0].type === 'process';
      const sideOutput = isOfSide ? SIDE.id : null;
      return { spec: specOf(it), behind, sideOutput, edges: [null, SIDE.id] };
    }),
  );

const batches = fc.array(fc.tuple(fc.array(fc.nat({ max: 500 }), { maxLength: 8 }), fc.boolean()), {
  minLength: 1,
  maxLength: 4,
});

async function traceOf(
  isGenerated: boolean,
  of: readonly Link[],
  input: readonly (readonly [readonly number[], boolean])[],
): Promise<unknown> {
  const { chain, emitted, failures, run, rest } = await chainOf(isGenerated, of);
  const outcomes: unknown[] = [];
  const attempt = (action: () => void): void => {
    try {
      action();
    } catch (error) {
      outcomes.push(String(error));
    }
  };
  for (const [index, [ids, isTimed]] of input.entries()) {
    const items = ids.map((id) => ({ key: id % 5, n: id }));
    outcomes.push(run(items, isTimed ? Float64Array.from(ids) : undefined), rest());
    attempt(() => chain.head.processWatermark(index * 30));
    attempt(() => chain.resume());
    outcomes.push(rest());
  }
  attempt(() => chain.endOfInput());
  return { emitted, failures, outcomes };
}

test('a tree of operators gives the same generated and by calls, errors and all', async () => {
  await fc.assert(
    fc.asyncProperty(links, batches, async (of, input) => {
      assert.deepEqual(await traceOf(true, of, input), await traceOf(false, of, input));
    }),
    { numRuns: 150 },
  );
});
