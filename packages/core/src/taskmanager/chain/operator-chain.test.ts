import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeyedProcessFunction } from '../../api/functions.ts';
import type { OperatorId, VertexId } from '../../base/ids.ts';
import type { JobEdge, JobOperator, JobVertex } from '../../protocol/job-graph.ts';
import { operatorFixture, recordingOutput } from '../operators/operator-fixture.ts';
import type { Emitted, OperatorFixture } from '../operators/operator-fixture.ts';
import { KeyedProcessOperator } from '../operators/keyed-process.ts';
import { StreamOperator } from '../operators/stream-operator.ts';
import { OperatorChain } from './operator-chain.ts';
import type { ChainOptions } from './operator-chain.ts';

/** Adds its name to what passes; what starts with `side` goes to the side output `late`. */
class Naming extends StreamOperator {
  closeError: Error | null = null;
  closed = 0;

  override processElement(value: unknown, timestamp: number): void {
    const text = `${String(value)}${this.context.operator.name}`;
    if (text.startsWith('side')) this.context.sideOutput('late').collect(text, timestamp);
    else this.context.output.collect(text, timestamp);
  }

  override close(): void {
    this.closed++;
    if (this.closeError !== null) throw this.closeError;
  }
}

/** `{ a: ['b', 'c'] }`: b and c are chained behind a; `a~late`: behind its side output. */
function chainOf(
  chained: Readonly<Record<string, readonly string[]>>,
  outputs: readonly string[],
  make: (name: string, fixture: OperatorFixture) => StreamOperator = (_, { context }) =>
    new Naming(context),
): { chain: OperatorChain; emitted: Record<string, Emitted[]> } {
  const names = [...new Set(Object.entries(chained).flatMap(([key, to]) => [bare(key), ...to]))];
  const operators = names.map((name, node): JobOperator => ({
    operatorId: name.padStart(32, '0') as OperatorId,
    node,
    type: 'test',
    name,
    uid: null,
    stateful: false,
    location: null,
    chainedTo: Object.entries(chained)
      .filter(([key]) => bare(key) === name)
      .flatMap(([key, to]) =>
        to.map((target) => ({ operator: names.indexOf(target), sideOutput: tagOf(key) })),
      ),
  }));
  const emitted: Record<string, Emitted[]> = {};
  const edges = outputs.map((key, index): ChainOptions['edges'][number] => {
    emitted[key] = [];
    const edge = {
      index,
      sourceOperator: names.indexOf(bare(key)),
      sideOutput: tagOf(key),
    } as JobEdge;
    return { edge, output: recordingOutput(emitted[key]) };
  });
  const vertex = { id: 'v' as VertexId, name: 'v', operators } as unknown as JobVertex;
  const chain = new OperatorChain({
    vertex,
    edges,
    make: (index, output, sideOutput) => {
      const operator = operators[index] as JobOperator;
      const fixture = operatorFixture({ operator, sideOutput, keySelectors: [Number] });
      return make(operator.name, {
        ...fixture,
        context: { ...fixture.context, output },
      });
    },
  });
  return { chain, emitted };
}

function bare(key: string): string {
  return key.split('~')[0] ?? key;
}

function tagOf(key: string): string | null {
  return key.split('~')[1] ?? null;
}

test('a record passes the whole chain in one call', () => {
  const { chain, emitted } = chainOf({ a: ['b'], b: ['c'] }, ['c']);
  chain.head.processElement('', 7);
  assert.deepEqual(emitted['c'], [['record', 'abc', 7]]);
});

test('a fork hands each record to every branch, and each branch to its own edges', () => {
  const { chain, emitted } = chainOf({ a: ['b', 'd'], b: ['c'] }, ['c', 'd', 'a']);
  chain.head.processElement('', 1);
  assert.deepEqual(emitted['c'], [['record', 'abc', 1]]);
  assert.deepEqual(emitted['d'], [['record', 'ad', 1]]);
  assert.deepEqual(emitted['a'], [['record', 'a', 1]]);
});

test('a side output reaches chained operators and edges, and nothing else', () => {
  const { chain, emitted } = chainOf({ a: ['b'], 'a~late': ['l'] }, ['b', 'l', 'a~late', 'a~none']);
  chain.head.processElement('side', 1);
  chain.head.processElement('', 2);
  assert.deepEqual(emitted['b'], [['record', 'ab', 2]]);
  assert.deepEqual(emitted['l'], [], 'the operator behind sends its own side output on');
  assert.deepEqual(emitted['a~late'], [['record', 'sidea', 1]]);
  assert.deepEqual(emitted['a~none'], []);
});

test('a side output that nobody reads is dropped', () => {
  const { chain, emitted } = chainOf({ a: ['b'] }, ['b']);
  chain.head.processElement('side', 1);
  assert.deepEqual(emitted['b'], []);
});

test('watermarks and idleness go to every output, those of side outputs too', () => {
  const { chain, emitted } = chainOf({ a: ['b'], 'a~late': ['l'] }, ['b', 'l', 'a~late']);
  chain.head.processWatermark(5);
  chain.head.processIdle(true);
  for (const key of ['b', 'l', 'a~late'])
    assert.deepEqual(emitted[key], [
      ['watermark', 5],
      ['idle', true],
    ]);
});

test('a watermark that stops at a timer half way goes on at resume, idleness behind it', () => {
  let room = 1;
  const fn: KeyedProcessFunction<number, number, string> = {
    onElement: (value, context) => context.timerService.registerEventTimeTimer(value),
    onTimer: (timestamp, context) => context.emit(`fired ${timestamp}`),
  };
  const { chain, emitted } = chainOf({ a: ['b'] }, ['b'], (name, { context }) =>
    name === 'a'
      ? new KeyedProcessOperator({ ...context, canEmit: () => --room > 0 }, fn)
      : new Naming(context),
  );
  for (const time of [10, 20, 30]) chain.head.processElement(time, time);
  assert.equal(chain.head.processWatermark(25), false);
  chain.head.processIdle(true);
  assert.deepEqual(emitted['b'], [['record', 'fired 10b', 10]]);
  room = 10;
  assert.equal(chain.resume(), true);
  assert.deepEqual(emitted['b']?.slice(1), [
    ['record', 'fired 20b', 20],
    ['watermark', 25],
    ['idle', true],
  ]);
});

test('every operator is closed, also when one fails, and the first error is told', async () => {
  const { chain } = chainOf({ a: ['b'], b: ['c'] }, ['c']);
  const operators = chain.operators as readonly Naming[];
  (operators[1] as Naming).closeError = new Error('cannot close b');
  await assert.rejects(chain.close(), /cannot close b/);
  assert.deepEqual(
    operators.map((operator) => operator.closed),
    [1, 1, 1],
  );
});
