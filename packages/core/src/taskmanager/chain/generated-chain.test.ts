import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeyedProcessFunction, KeyValue, ProcessFunction } from '../../api/functions.ts';
import type { Source } from '../../api/source.ts';
import type { Sink } from '../../api/sink.ts';
import type { OperatorSpec, PartitionerSpec, StreamNode } from '../../api/stream-graph.ts';
import { monotonousTimestamps } from '../../api/watermarks.ts';
import { messageOf, UserFunctionError } from '../../base/errors.ts';
import type { OperatorId, VertexId } from '../../base/ids.ts';
import { seededRandom } from '../../base/random.ts';
import { ResultPartition } from '../../network/result-partition.ts';
import type { JobEdge, JobOperator, JobVertex } from '../../protocol/job-graph.ts';
import type { ChannelDescriptor } from '../../protocol/messages.ts';
import { createOperator } from '../operators/create-operator.ts';
import { operatorFixture, recordingOutput } from '../operators/operator-fixture.ts';
import type { Emitted } from '../operators/operator-fixture.ts';
import { networkOutput } from './network-output.ts';
import { OperatorChain } from './operator-chain.ts';

interface Order {
  readonly id: number;
  readonly at: number;
}

/** Everything that came out, and what went wrong. */
interface Trace {
  readonly emitted: readonly Emitted[];
  readonly sides: readonly Emitted[];
  readonly written: readonly unknown[];
  readonly errors: readonly string[];
  /** Operator that was active at the end. */
  readonly active: number;
}

const LATE = { id: 'late' };
/** Its record makes every function throw. */
const FATAL = 13;

function check(order: Order): Order {
  if (order.id === FATAL) throw new TypeError(`cannot take ${order.id}`);
  return order;
}

const keyed: KeyedProcessFunction<KeyValue, unknown, unknown> = {
  onElement(value, context) {
    const order = check(value as Order);
    context.timerService.registerEventTimeTimer(order.at + 5);
    context.emit({ key: context.key, ...order });
    context.output(LATE, order.id);
  },
  onTimer(timestamp, context) {
    context.emit({ key: context.key, timer: timestamp });
  },
};

interface Emits {
  readonly emit: (result: unknown) => void;
}

interface Case {
  readonly spec: OperatorSpec;
  readonly secondInput?: boolean;
}

/** A function for every kind of operator: the compiler asks for one when a kind is added. */
function casesOf(written: unknown[]): Readonly<Record<OperatorSpec['type'], Case>> {
  const oneInput: ProcessFunction<unknown, unknown> = {
    onElement(value, context) {
      check(value as Order);
      context.emit([context.timestamp, value]);
      context.output(LATE, value);
    },
    onEndOfInput: (context) => context.emit('end'),
  };
  const bothInputs = {
    onElement1: (value: unknown, context: Emits): void => {
      context.emit(['first', check(value as Order)]);
    },
    onElement2: (value: unknown, context: Emits): void => {
      context.emit(['second', check(value as Order)]);
    },
  };
  const broadcast = {
    onElement: bothInputs.onElement1,
    onBroadcastElement: (value: unknown, context: Emits): void => {
      context.emit(['broadcast', check(value as Order)]);
    },
  };
  return {
    source: {
      spec: { type: 'source', source: sourceOfOrders(), watermarks: monotonousTimestamps() },
    },
    map: {
      spec: { type: 'map', fn: { map: (value) => ({ ...check(value as Order), mapped: 1 }) } },
    },
    filter: {
      spec: { type: 'filter', fn: { filter: (value) => check(value as Order).id % 2 > 0 } },
    },
    flatMap: {
      spec: {
        type: 'flatMap',
        fn: {
          flatMap(value, emit) {
            const { id } = check(value as Order);
            emit(`emitted ${id}`);
            return id % 3 === 0 ? undefined : new Set([id, -id]);
          },
        },
      },
    },
    process: { spec: { type: 'process', fn: oneInput } },
    keyedProcess: { spec: { type: 'keyedProcess', fn: keyed } },
    keyedReduce: {
      spec: {
        type: 'keyedReduce',
        reduce: (a, b) => ({ id: (a as Order).id + check(b as Order).id, at: 0 }),
      },
    },
    keyedAggregate: {
      spec: {
        type: 'keyedAggregate',
        aggregate: {
          createAccumulator: () => 0,
          add: (value, sum) => (sum as number) + check(value as Order).id,
          getResult: (sum) => sum,
        },
      },
    },
    coProcess: {
      spec: { type: 'coProcess', fn: bothInputs },
      secondInput: true,
    },
    keyedCoProcess: {
      spec: {
        type: 'keyedCoProcess',
        fn: bothInputs,
      },
      secondInput: true,
    },
    broadcastProcess: {
      spec: {
        type: 'broadcastProcess',
        fn: broadcast,
        broadcast: {},
      },
      secondInput: true,
    },
    keyedBroadcastProcess: {
      spec: {
        type: 'keyedBroadcastProcess',
        fn: broadcast,
        broadcast: {},
      },
      secondInput: true,
    },
    timestamps: {
      spec: {
        type: 'timestamps',
        strategy: monotonousTimestamps((value) => check(value as Order).at),
      },
    },
    sink: { spec: { type: 'sink', sink: sinkInto(written) } },
  };
}

function sinkInto(written: unknown[]): Sink<unknown> {
  return {
    name: 'list',
    write: 'plain',
    createWriter: () => ({
      write: (value, context) => void written.push([check(value as Order), { ...context }]),
      isWritable: true,
      whenWritable: () => Promise.resolve(),
      prepareCommit: () => ({ committables: [], writerStates: [], durable: Promise.resolve() }),
      close: () => Promise.resolve(),
    }),
  };
}

/** Gives each of the numbers asked for by `remaining` at a poll. */
function sourceOfOrders(): Source<unknown> {
  let next = 0;
  return {
    name: 'orders',
    boundedness: 'bounded',
    replay: 'offsets',
    createEnumerator: () => {
      throw new Error('not used');
    },
    createReader: () => ({
      start: () => undefined,
      poll(output) {
        for (let count = 0; count < 8 && output.remaining > 0; count++) {
          output.collect(orderOf(next), next * 2, 'split');
          next++;
        }
        return next >= ORDERS ? 'end' : 'more';
      },
      addSplits: () => undefined,
      notifyNoMoreSplits: () => undefined,
      snapshotState: () => [],
      notifyCheckpointComplete: () => undefined,
      close: () => undefined,
    }),
  };
}

const ORDERS = 40;
const orderOf = (id: number): Order => ({ id, at: id * 2 });

/** Middle of the chain: the operator tested, behind it a map, a filter and an edge, and a side. */
async function traceOf(
  type: OperatorSpec['type'],
  options: { readonly isGenerated: boolean; readonly isHead: boolean; readonly ids: number[] },
): Promise<Trace> {
  const written: unknown[] = [];
  const { spec, secondInput = false } = casesOf(written)[type];
  const before: OperatorSpec[] = options.isHead
    ? []
    : [{ type: 'map', fn: { map: (value) => value } }];
  const after: OperatorSpec[] =
    type === 'sink'
      ? []
      : [
          { type: 'map', fn: { map: (value) => [value] } },
          { type: 'filter', fn: { filter: (value) => JSON.stringify(value).length % 5 > 0 } },
        ];
  const specs = [...before, spec, ...after];
  const operators = specs.map((each, index) => jobOperator(each, index, specs.length));
  const emitted: Emitted[] = [];
  const sides: Emitted[] = [];
  const tested = before.length;
  const edges = [
    { edge: edgeFrom(specs.length - 1, null), output: recordingOutput(emitted) },
    { edge: edgeFrom(tested, null), output: recordingOutput(emitted) },
    { edge: edgeFrom(tested, LATE.id), output: recordingOutput(sides) },
  ].slice(type === 'sink' ? 2 : 0);
  const cells = new Int32Array(2);
  const chain = new OperatorChain({
    vertex: { id: 'v' as VertexId, name: 'v', operators } as unknown as JobVertex,
    edges,
    isGenerated: options.isGenerated,
    make: (index, output, sideOutput) => {
      const node = { spec: specs[index], keySelectors: [keyOf, keyOf] } as unknown as StreamNode;
      const fixture = operatorFixture({
        operator: operators[index] as JobOperator,
        sideOutput,
        keySelectors: [keyOf, keyOf],
        autoWatermarkIntervalMs: 0,
      });
      const active = Object.assign(fixture.context.active, { cells });
      return createOperator(node, { ...fixture.context, output, active });
    },
  });
  for (const operator of chain.operators) await operator.open();
  const errors = drive(chain, options.ids, secondInput && options.isHead);
  return { emitted, sides, written, errors, active: cells[0] ?? 0 };
}

function keyOf(value: unknown): number {
  const { id } = value as Order;
  if (id === 7) throw new RangeError('no key for 7');
  return id % 4;
}

/** Batches with a watermark behind each; an error ends a batch as it would end the task. */
function drive(chain: OperatorChain, ids: readonly number[], alternates: boolean): string[] {
  const errors: string[] = [];
  const attempt = (action: () => void): void => {
    try {
      action();
    } catch (error) {
      assert.ok(error instanceof UserFunctionError, String(error));
      errors.push(error.message);
    }
  };
  const { source, head } = chain;
  if (source !== null) {
    for (let polls = 0; polls < ORDERS / 8; polls++) attempt(() => source.poll());
    return errors;
  }
  for (let from = 0; from < ids.length; from += 5) {
    const values = ids.slice(from, from + 5).map(orderOf);
    const timestamps = from % 2 === 0 ? null : Float64Array.from(values, ({ at }) => at);
    const run = chain.runOf(alternates && from % 10 === 0 ? 1 : 0);
    attempt(() => assert.equal(run(values, timestamps, 1, values.length), values.length));
    attempt(() => head.processWatermark(from));
    attempt(() => chain.resume());
  }
  attempt(() => chain.endOfInput());
  return errors;
}

function jobOperator(spec: OperatorSpec, index: number, count: number): JobOperator {
  return {
    operatorId: `${index}`.padStart(32, '0') as OperatorId,
    node: index,
    type: spec.type,
    name: `${spec.type}-${index}`,
    uid: null,
    stateful: false,
    location: null,
    chainedTo: index + 1 < count ? [{ operator: index + 1, sideOutput: null }] : [],
  };
}

function edgeFrom(sourceOperator: number, tag: string | null): JobEdge {
  return { index: 0, sourceOperator, sideOutput: tag } as JobEdge;
}

const KINDS = Object.keys(casesOf([])) as readonly OperatorSpec['type'][];

for (const type of KINDS)
  for (const isHead of type === 'source' ? [true] : [true, false])
    test(`${type} is the same generated and by calls (${isHead ? 'head' : 'inside'})`, async () => {
      const all = Array.from({ length: ORDERS }, (_, id) => id);
      const harmless = all.filter((id) => id !== FATAL && id !== 7);
      for (const ids of [harmless, all]) {
        const byCalls = await traceOf(type, { isGenerated: false, isHead, ids });
        const generated = await traceOf(type, { isGenerated: true, isHead, ids });
        assert.deepEqual(generated, byCalls);
        const { emitted, written, errors } = generated;
        assert.ok(emitted.length + written.length > 5, 'little came out');
        if (type !== 'source') assert.equal(errors.length > 0, ids === all);
      }
    });

/** A chain of one map that sends into a partition nobody reads. */
function chainIntoNetwork(
  isGenerated: boolean,
  spec: PartitionerSpec,
): { chain: OperatorChain; partition: ResultPartition } {
  const execution = { vertexId: 'v' as VertexId, subtask: 0, attempt: { epoch: 1, counter: 1 } };
  const channels = [0, 1].map((channelId) => ({ channelId, producer: execution }));
  const partition = new ResultPartition({
    execution,
    channels: channels as unknown as ChannelDescriptor[],
    operatorName: 'map',
    onError: () => undefined,
  });
  const output = networkOutput({
    partition,
    spec,
    channelCount: 2,
    maxParallelism: 128,
    random: seededRandom(3),
    operatorName: 'map',
    counters: { recordsOut: 0 },
    failure: (error) => new UserFunctionError(`routing: ${messageOf(error)}`),
  });
  const map: OperatorSpec = { type: 'map', fn: { map: (value) => value } };
  const operator = jobOperator(map, 0, 1);
  const chain = new OperatorChain({
    vertex: { id: 'v' as VertexId, name: 'v', operators: [operator] } as unknown as JobVertex,
    edges: [{ edge: edgeFrom(0, null), output }],
    isGenerated,
    make: (_index, to) =>
      createOperator({ spec: map, keySelectors: [] } as unknown as StreamNode, {
        ...operatorFixture({ operator }).context,
        output: to,
      }),
  });
  return { chain, partition };
}

/** Every kind of edge: the compiler asks for one when a kind is added. */
const EDGES: { readonly [T in PartitionerSpec['type']]: PartitionerSpec & { type: T } } = {
  forward: { type: 'forward' },
  global: { type: 'global' },
  rebalance: { type: 'rebalance' },
  rescale: { type: 'rescale' },
  shuffle: { type: 'shuffle' },
  broadcast: { type: 'broadcast' },
  hash: { type: 'hash', keySelector: (value) => keyOf(value) },
  custom: { type: 'custom', keySelector: keyOf, partitioner: (key) => (key as number) % 2 },
};

for (const spec of Object.values(EDGES))
  test(`a ${spec.type} edge takes as many records generated and by calls, then stops`, () => {
    const values = Array.from({ length: 6000 }, (_, index) => orderOf(index + 8));
    const [generated, byCalls] = [true, false].map((isGenerated) => {
      const { chain, partition } = chainIntoNetwork(isGenerated, spec);
      const handled = chain.runOf(0)(values, null, 0, values.length);
      assert.equal(chain.hasRoom(), false);
      const unsent = partition.subpartitions.map((subpartition) => subpartition.unsent);
      return { handled, unsent };
    });
    assert.deepEqual(generated, byCalls);
    assert.ok((generated?.handled ?? 0) < values.length);
  });

test('a key function of an edge that throws is told apart from the operator before it', () => {
  for (const isGenerated of [true, false]) {
    const { chain } = chainIntoNetwork(isGenerated, EDGES.hash);
    assert.throws(() => chain.runOf(0)([orderOf(7)], null, 0, 1), /routing: no key for 7/);
  }
});
