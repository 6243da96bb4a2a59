/** What functions must keep to, in chains that are generated and in chains of plain calls. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProcessContext } from '../../api/functions.ts';
import type { OperatorSpec } from '../../api/stream-graph.ts';
import { chainOf as anyChainOf, inARow } from './chain-fixture.ts';
import type { TestChain } from './chain-fixture.ts';

type Emits = ProcessContext<unknown, {}>;

const HAS_TAG = { id: 'side' };

function chainOf(isGenerated: boolean, specs: readonly OperatorSpec[]): Promise<TestChain> {
  return anyChainOf(isGenerated, inARow(specs));
}

const WAYS = [
  { isGenerated: true, how: 'generated' },
  { isGenerated: false, how: 'by calls' },
];

const PROMISE = Promise.resolve([1]);
/** As a type checker never let it through: it is not there when a job runs. */
const promise = (): never => PROMISE as never;
/** What has a method `then` is waited for like a promise. */
// oxlint-disable-next-line unicorn/no-thenable -- what it is about
const thenable = (): never => ({ then: () => undefined }) as never;

const RETURNING: readonly [string, (returned: () => never) => OperatorSpec][] = [
  ['filter', (filter) => ({ type: 'filter', fn: { filter } })],
  ['flatMap', (flatMap) => ({ type: 'flatMap', fn: { flatMap } })],
  ['onElement', (onElement) => ({ type: 'process', fn: { onElement } })],
  ['onElement', (onElement) => ({ type: 'keyedProcess', fn: { onElement } })],
  ['onElement1', (first) => coProcess('coProcess', first)],
  ['onElement1', (first) => coProcess('keyedCoProcess', first)],
  ['write', (write) => ({ type: 'sink', sink: sinkOf(write) })],
];

function coProcess(type: 'coProcess' | 'keyedCoProcess', onElement1: () => never): OperatorSpec {
  return { type, fn: { onElement1, onElement2: () => undefined } };
}

function sinkOf(write: () => never): Extract<OperatorSpec, { type: 'sink' }>['sink'] {
  return {
    name: 'list',
    write: 'plain',
    createWriter: () => ({
      write,
      isWritable: true,
      whenWritable: () => Promise.resolve(),
      prepareCommit: () => ({ committables: [], writerStates: [], durable: Promise.resolve() }),
      close: () => Promise.resolve(),
    }),
  };
}

for (const { isGenerated, how } of WAYS) {
  test(`a function that returns a promise is refused, ${how}`, async () => {
    const cases = RETURNING.flatMap(([method, make]) =>
      [promise, thenable].map((returned) => [method, make(returned)] as const),
    );
    const map: OperatorSpec = { type: 'map', fn: { map: promise } };
    for (const [method, spec] of [...cases, ['map', map] as const]) {
      const { run, emitted } = await chainOf(isGenerated, [spec]);
      assert.match(run([1]) ?? '', new RegExp(`^${method} of .*job.ts:1 returned a promise: `));
      assert.equal(emitted.length, 0);
    }
  });

  test(`what flatMap returns must be iterable, ${how}`, async () => {
    for (const returned of [5, null, {}, () => []]) {
      const flatMap = (): never => returned as never;
      const { run } = await chainOf(isGenerated, [{ type: 'flatMap', fn: { flatMap } }]);
      assert.match(run([1]) ?? '', /^flatMap of .* returned (a value of type|null).* an array/);
    }
  });

  test(`a filter may answer with anything that is true or false, ${how}`, async () => {
    for (const answer of [1, 'yes', {}, 0, '', null, undefined, Number.NaN]) {
      const filter = (): never => answer as never;
      const { run, emitted } = await chainOf(isGenerated, [{ type: 'filter', fn: { filter } }]);
      assert.equal(run([1]), null);
      assert.equal(emitted.length, answer ? 1 : 0);
    }
  });

  for (const type of ['process', 'keyedProcess', 'flatMap'] as const)
    test(`${type} may emit only until its function returns, ${how}`, async () => {
      const kept: ((result: unknown) => void)[] = [];
      const keep = (emit: (result: unknown) => void): void => {
        kept.push(emit);
        emit('in time');
      };
      const spec: OperatorSpec =
        type === 'flatMap'
          ? { type, fn: { flatMap: (_value, emit) => keep(emit) } }
          : {
              type,
              fn: {
                onElement(_value: unknown, context: Emits) {
                  keep((result) => context.emit(result));
                  kept.push((result) => context.output(HAS_TAG, result));
                },
              },
            };
      const { run, rest, emitted, failures } = await chainOf(isGenerated, [spec]);
      assert.equal(run([1]), null);
      rest();
      for (const [index, emit] of kept.entries()) {
        emit('late');
        assert.match(failures[index] ?? '', /job.ts:1 emitted while none of its functions ran/);
      }
      assert.deepEqual(emitted, [['record', 'in time', Number.NaN]]);
    });

  test(`emit of one operator is not for the function of another, ${how}`, async () => {
    const kept: ((result: unknown) => void)[] = [];
    const keep: OperatorSpec = {
      type: 'flatMap',
      fn: {
        flatMap(value, emit) {
          kept.push(emit);
          return [value];
        },
      },
    };
    const use: OperatorSpec = { type: 'flatMap', fn: { flatMap: (value) => kept[0]?.(value) } };
    const { run, emitted, failures } = await chainOf(isGenerated, [keep, use]);
    assert.equal(run([1]), null);
    assert.match(failures[0] ?? '', /operator flatMap, job.ts:1 emitted while none/);
    assert.equal(emitted.length, 0);
  });

  test(`state is out of reach once the function has returned, ${how}`, async () => {
    let late = (): unknown => null;
    const { run, rest } = await chainOf(isGenerated, [
      {
        type: 'keyedProcess',
        fn: {
          onElement(_value: unknown, context) {
            late = () => context.key;
            assert.equal(late(), 7);
          },
        },
      },
    ]);
    assert.equal(run([7]), null);
    rest();
    assert.throws(late, /no key is current; use it in onElement .* not in .* a later callback/);
  });

  for (const type of ['process', 'flatMap'] as const)
    test(`${type} that catches what one behind it threw fails the task, ${how}`, async () => {
      const swallow = (emit: (result: unknown) => void): void => {
        try {
          emit(1);
        } catch {
          // It takes it for an error of its own.
        }
      };
      const spec: OperatorSpec =
        type === 'flatMap'
          ? { type, fn: { flatMap: (_value, emit) => swallow(emit) } }
          : { type, fn: { onElement: (_value: unknown, it: Emits) => swallow((x) => it.emit(x)) } };
      const broken = (): never => {
        throw new Error('broken');
      };
      const map: OperatorSpec = { type: 'map', fn: { map: broken } };
      const { run, failures } = await chainOf(isGenerated, [spec, map]);
      assert.equal(run([1]), null);
      assert.deepEqual(failures, ['map of operator map, job.ts:2 threw: broken']);
    });
}
