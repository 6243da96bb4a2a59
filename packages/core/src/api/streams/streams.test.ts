import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GraphValidationError } from '../../base/errors.ts';
import { buildStreamGraph } from '../build-stream-graph.ts';
import { job } from '../job.ts';
import type { Sink } from '../sink.ts';
import {
  aggregatingState,
  broadcastState,
  operatorListState,
  reducingState,
  valueState,
} from '../state-descriptors.ts';
import type { StreamExecutionEnvironment } from '../stream-execution-environment.ts';
import type { StreamGraph, StreamNode } from '../stream-graph.ts';
import { outputTag } from '../type-markers.ts';
import { boundedOutOfOrderness } from '../watermarks.ts';

type Env = StreamExecutionEnvironment;

const identity = <T>(value: T): T => value;
const SINK: Sink<unknown> = { name: 'out', write: 'plain', createWriter: () => assert.fail() };

function graphOf(build: (env: Env) => void): StreamGraph {
  return buildStreamGraph(job('test', build)).graph;
}

/** `source -partitioner-> target` for each edge, with input and side output where there are any. */
function edgesOf(graph: StreamGraph): readonly string[] {
  return graph.edges.map(({ source, target, inputIndex, partitioner, sideOutput }) => {
    const from = graph.nodes[source]!.name + (sideOutput === null ? '' : `/${sideOutput}`);
    const to = graph.nodes[target]!.name + (inputIndex === 0 ? '' : '#1');
    return `${from} -${partitioner?.type ?? ''}-> ${to}`;
  });
}

function nodeNamed(graph: StreamGraph, name: string): StreamNode {
  const node = graph.nodes.find((one) => one.name === name);
  assert.ok(node, name);
  return node;
}

function refusal(build: (env: Env) => void): string {
  try {
    graphOf(build);
  } catch (error) {
    assert.ok(error instanceof GraphValidationError);
    return error.message;
  }
  return assert.fail('nothing was refused');
}

test('calls become nodes in their order, with names and places', () => {
  const graph = graphOf((env) => {
    const numbers = env.fromCollection([1], { name: 'numbers' });
    const doubled = numbers.map((n) => n * 2).filter((n) => n > 0);
    const words = doubled.flatMap((n) => [`${n}`]).process({ onElement: () => undefined });
    words.sinkTo(SINK);
    words.print();
    words.forEach(() => undefined);
    words.collect([]);
  });
  assert.deepEqual(
    graph.nodes.map((node) => node.name),
    [
      'Source: numbers',
      'Map',
      'Filter',
      'FlatMap',
      'Process',
      'Sink: out',
      'Sink: Print',
      'Sink: ForEach',
      'Sink: Collect',
    ],
  );
  assert.deepEqual(
    graph.nodes.map((node) => node.id),
    graph.nodes.keys().toArray(),
  );
  for (const node of graph.nodes) assert.match(node.location ?? '', /^streams\.test\.ts:\d+$/);
  assert.equal(graph.jobName, 'test');
  assert.equal(edgesOf(graph)[0], 'Source: numbers --> Map');
});

test('settings belong to the operator they follow', () => {
  const graph = graphOf((env) => {
    env
      .fromCollection([1], { uid: 'in', name: 'in', parallelism: 1 })
      .map(identity)
      .name('same')
      .uid('map')
      .setUidHash('0123456789ABCDEF0123456789abcdef')
      .setParallelism(3)
      .setMaxParallelism(12)
      .startNewChain()
      .slotSharingGroup('heavy')
      .sinkTo(SINK)
      .uid('out')
      .name('end')
      .disableChaining()
      .setParallelism(2);
  });
  const [source, map, sink] = graph.nodes;
  assert.deepEqual([source!.name, source!.uid, source!.parallelism], ['Source: in', 'in', 1]);
  assert.deepEqual(
    [map!.name, map!.uid, map!.uidHash, map!.parallelism, map!.maxParallelism, map!.chaining],
    ['same', 'map', '0123456789abcdef0123456789abcdef', 3, 12, 'head'],
  );
  assert.equal(map!.slotSharingGroup, 'heavy');
  assert.deepEqual(
    [sink!.name, sink!.uid, sink!.chaining, sink!.parallelism],
    ['end', 'out', 'never', 2],
  );
});

test('what is not set is left to the job', () => {
  const [node] = graphOf((env) => void env.fromCollection([1])).nodes;
  assert.deepEqual(
    [node!.uid, node!.uidHash, node!.parallelism, node!.maxParallelism, node!.slotSharingGroup],
    [null, null, null, null, null],
  );
  assert.equal(node!.chaining, 'always');
});

test('partitioners stand on the edge to the next operator', () => {
  const graph = graphOf((env) => {
    const numbers = env.fromCollection([1], { name: 'n' });
    numbers.rebalance().map(identity).name('a');
    numbers.rescale().map(identity).name('b');
    numbers.shuffle().map(identity).name('c');
    numbers.forward().map(identity).name('d');
    numbers.global().map(identity).name('e');
    numbers.broadcast().map(identity).name('f');
    numbers
      .partitionCustom(
        (n) => n,
        (key, count) => key % count,
      )
      .map(identity)
      .name('g');
    numbers.keyBy(identity).map(identity).name('h');
    numbers.keyBy(identity).sinkTo(SINK);
    numbers.rebalance().global().map(identity).name('i');
  });
  assert.deepEqual(edgesOf(graph), [
    'Source: n -rebalance-> a',
    'Source: n -rescale-> b',
    'Source: n -shuffle-> c',
    'Source: n -forward-> d',
    'Source: n -global-> e',
    'Source: n -broadcast-> f',
    'Source: n -custom-> g',
    'Source: n -hash-> h',
    'Source: n -hash-> Sink: out',
    'Source: n -global-> i',
  ]);
  assert.deepEqual(nodeNamed(graph, 'h').keySelectors, [null], 'a map has no state by key');
});

test('keyed operators have the key selector of their input', () => {
  const key = (n: number): number => n % 2;
  const graph = graphOf((env) => {
    const keyed = env.fromCollection([1]).keyBy(key);
    keyed.process({ onElement: () => undefined });
    keyed.reduce((a, b) => a + b);
    keyed.aggregate({ createAccumulator: () => 0, add: (n, sum) => n + sum, getResult: identity });
  });
  for (const name of ['KeyedProcess', 'KeyedReduce', 'KeyedAggregate']) {
    const node = nodeNamed(graph, name);
    assert.deepEqual(node.keySelectors, [key]);
    const edge = graph.edges.find((one) => one.target === node.id)!;
    assert.deepEqual(edge.partitioner, { type: 'hash', keySelector: key });
  }
});

test('a union has an edge from each of its streams', () => {
  const graph = graphOf((env) => {
    const one = env.fromCollection([1], { name: '1' });
    const two = env.fromCollection([2], { name: '2' });
    const three = env.fromCollection(['3'], { name: '3' });
    one.union(two, three.rebalance()).map(identity);
  });
  assert.deepEqual(edgesOf(graph), [
    'Source: 1 --> Map',
    'Source: 2 --> Map',
    'Source: 3 -rebalance-> Map',
  ]);
});

test('connected streams feed two inputs', () => {
  const graph = graphOf((env) => {
    const one = env.fromCollection([1], { name: '1' });
    const two = env.fromCollection(['2'], { name: '2' });
    const both = { onElement1: () => undefined, onElement2: () => undefined };
    one.connect(two).process(both);
    one.connect(two).keyBy(String, identity).process(both).name('keyed later');
    one.keyBy(String).connect(two.keyBy(identity)).process(both).name('keyed first');
  });
  assert.deepEqual(edgesOf(graph), [
    'Source: 1 --> CoProcess',
    'Source: 2 --> CoProcess#1',
    'Source: 1 -hash-> keyed later',
    'Source: 2 -hash-> keyed later#1',
    'Source: 1 -hash-> keyed first',
    'Source: 2 -hash-> keyed first#1',
  ]);
  assert.deepEqual(nodeNamed(graph, 'keyed later').keySelectors, [String, identity]);
  assert.deepEqual(nodeNamed(graph, 'keyed first').keySelectors, [String, identity]);
});

test('broadcast state goes with its operator', () => {
  const states = { rules: broadcastState<string, number>() };
  const fn = { onElement: () => undefined, onBroadcastElement: () => undefined };
  const graph = graphOf((env) => {
    const main = env.fromCollection([1], { name: 'main' });
    const rules = env.fromCollection(['r'], { name: 'rules' }).broadcast(states);
    main.connect(rules).process(fn);
    main.keyBy(identity).connect(rules).process(fn);
  });
  assert.deepEqual(edgesOf(graph), [
    'Source: main --> BroadcastProcess',
    'Source: rules -broadcast-> BroadcastProcess#1',
    'Source: main -hash-> KeyedBroadcastProcess',
    'Source: rules -broadcast-> KeyedBroadcastProcess#1',
  ]);
  assert.deepEqual(nodeNamed(graph, 'KeyedBroadcastProcess').keySelectors, [identity, null]);
  const { spec } = nodeNamed(graph, 'BroadcastProcess');
  assert.ok(spec.type === 'broadcastProcess');
  assert.equal(spec.broadcast, states);
});

test('a side output is an edge of its own', () => {
  const graph = graphOf((env) => {
    const main = env.fromCollection([1], { name: 'n' }).process({ onElement: () => undefined });
    main.sideOutput(outputTag<string>('late')).rebalance().map(identity);
    main.map(identity);
  });
  assert.deepEqual(edgesOf(graph).slice(1), ['Process/late -rebalance-> Map', 'Process --> Map']);
});

test('watermark strategies stand at the source, or at an operator', () => {
  const strategy = boundedOutOfOrderness<number>('1s', identity);
  const graph = graphOf((env) => {
    env.fromCollection([1], { watermarks: strategy }).assignTimestampsAndWatermarks(strategy);
    env.fromCollection([2], { name: 'without' });
  });
  const [source, timestamps] = graph.nodes.map((node) => node.spec);
  assert.ok(source!.type === 'source' && timestamps!.type === 'timestamps');
  assert.equal(source.watermarks, strategy);
  assert.equal(timestamps.strategy, strategy);
  assert.equal(graph.nodes[1]!.name, 'Timestamps/Watermarks');
  const without = nodeNamed(graph, 'Source: without').spec;
  assert.ok(without.type === 'source');
  assert.equal(without.watermarks.kind, 'none');
});

test('plain functions become function objects; objects and instances stay as they are', () => {
  class Doubler {
    readonly factor = 2;
    map(value: number): number {
      return value * this.factor;
    }
  }
  const doubler = new Doubler();
  const graph = graphOf((env) => {
    env
      .fromCollection([1])
      .map(doubler)
      .map((n) => n + 1);
  });
  const [, first, second] = graph.nodes.map((node) => node.spec);
  assert.ok(first!.type === 'map' && second!.type === 'map');
  assert.equal(first.fn, doubler);
  assert.equal(second.fn.map(first.fn.map(3)), 7);
});

test('what is no function is refused at the call, saying what is expected', () => {
  const numbers = (env: Env) => env.fromCollection([1]);
  const at = String.raw` at streams\.test\.ts:\d+: `;
  const cases: readonly (readonly [(env: Env) => void, string])[] = [
    [(env) => numbers(env).map(undefined as never), 'map{at}expected a function.*got undefined'],
    [(env) => numbers(env).map({} as never), 'map{at}expected .*method map; map is undefined'],
    [(env) => numbers(env).map(async () => 1), 'map{at}the function must not be async'],
    [(env) => numbers(env).filter('x' as never), 'filter{at}.*got the text "x"'],
    [(env) => numbers(env).flatMap(null as never), 'flatMap{at}.*got null'],
    [(env) => numbers(env).process({} as never), 'process{at}.*onElement is undefined'],
    [
      (env) => numbers(env).keyBy('id' as never),
      'keyBy{at}expected a function that returns the key',
    ],
    [(env) => numbers(env).sinkTo({} as never), 'sinkTo{at}expected a sink'],
    [(env) => numbers(env).collect({} as never), 'collect{at}expected the array'],
    [(env) => numbers(env).forEach([] as never), 'forEach{at}expected a function, got an array'],
    [(env) => numbers(env).union({} as never), 'union{at}expected streams'],
    [(env) => numbers(env).connect({} as never), 'connect{at}expected a stream'],
    [(env) => numbers(env).broadcast({} as never), 'broadcast{at}expected broadcast states'],
    [
      (env) =>
        numbers(env)
          .keyBy(identity)
          .reduce({} as never),
      'reduce{at}expected a function',
    ],
    [(env) => env.fromSource({} as never), 'fromSource{at}expected a source'],
    [(env) => env.fromCollection('abc' as never), 'fromCollection{at}expected an array'],
  ];
  for (const [build, expected] of cases)
    assert.match(refusal(build), new RegExp(`^${expected.replace('{at}', at)}`));
});

test('a class instead of an instance, and async methods, are pointed out', () => {
  class Totals {
    onElement(): void {}
  }
  const process = (fn: unknown) => (env: Env) =>
    void env
      .fromCollection([1])
      .keyBy(identity)
      .process(fn as never);
  assert.match(refusal(process(Totals)), /got the class Totals: give an instance, new Totals/);
  assert.match(
    refusal(process({ onElement: async () => undefined })),
    /onElement must not be async.*only open and close may wait/,
  );
  assert.match(
    refusal(process({ onElement: () => undefined, onTimer: 5 })),
    /onTimer must be a method, but is a number/,
  );
  graphOf(process({ onElement: () => undefined, open: async () => undefined }));
});

test('a function that would return before its work is done is refused', () => {
  const process = (fn: object) => (env: Env) =>
    void env
      .fromCollection([1])
      .keyBy(identity)
      .process({ onElement: () => undefined, ...fn });
  const state = (total: unknown) => process({ state: { total } });
  const keyed = (env: Env) => env.fromCollection([1]).keyBy(identity);
  const sum = { createAccumulator: () => 0, add: () => 0, getResult: () => 0 };
  const generator = function* (): Generator<number> {
    yield 1;
  };
  const later = async (): Promise<number> => 1;
  const refused: readonly ((env: Env) => void)[] = [
    (env) => env.fromCollection([1]).map(generator),
    (env) => env.fromCollection([1]).filter({ filter: generator } as never),
    (env) => env.fromCollection([1]).forEach(generator),
    (env) => env.fromCollection([1]).flatMap(later as never),
    (env) => keyed(env).reduce(later as never),
    (env) => keyed(env).aggregate({ ...sum, add: later as never }),
    process({ onElement: generator }),
    process({ onTimer: generator }),
    state(reducingState(later as never)),
    state(aggregatingState({ ...sum, getResult: later })),
    state(valueState({ default: later as never })),
  ];
  for (const build of refused) assert.match(refusal(build), /must not be (async|a generator): /);
  graphOf((env) => void env.fromCollection([1]).flatMap(generator));
  graphOf((env) => void env.fromCollection([1]).flatMap({ flatMap: generator }));
});

test('states are checked by name and kind', () => {
  const keyed = (state: unknown) => (env: Env) =>
    void env
      .fromCollection([1])
      .keyBy(identity)
      .process({ state, onElement() {} } as never);
  const unkeyed = (state: unknown) => (env: Env) =>
    void env.fromCollection([1]).process({ state, onElement() {} } as never);
  assert.match(refusal(keyed({ total: 5 })), /state total must be made by .*but is a number/);
  assert.match(refusal(keyed(5)), /state must be an object/);
  assert.match(
    refusal(unkeyed({ total: valueState() })),
    /state total belongs to a key: call keyBy before process/,
  );
  assert.match(
    refusal(keyed({ rules: broadcastState() })),
    /rules is declared with stream\.broadcast/,
  );
  graphOf(keyed({ total: valueState(), buffer: operatorListState() }));
  graphOf(unkeyed({ buffer: operatorListState() }));
});

test('settings that cannot be are refused with the operator and its place', () => {
  const map = (env: Env) => env.fromCollection([1]).map(identity);
  const cases: readonly (readonly [(env: Env) => void, RegExp])[] = [
    [(env) => map(env).uid(''), /^Map at streams\.test\.ts:\d+: uid: expected a text/],
    [(env) => map(env).name(undefined as never), /name: expected a text/],
    [(env) => map(env).setUidHash('xyz'), /"xyz" is not 32 hexadecimal digits/],
    [(env) => map(env).setParallelism(0), /parallelism: 0 is not a whole number from 1 to 32768/],
    [(env) => map(env).setMaxParallelism(32_769), /maxParallelism: 32769/],
    [(env) => map(env).setParallelism(1.5), /1\.5/],
    [(env) => void map(env).sideOutput(outputTag('x')), /Map has no side outputs: use process/],
  ];
  for (const [build, message] of cases) assert.match(refusal(build), message);
});

test('streams of another job are refused, and so is a stream united with itself', () => {
  let foreign: ReturnType<Env['fromCollection']> | null = null;
  graphOf((env) => {
    foreign = env.fromCollection([1]);
  });
  assert.match(
    refusal((env) => void env.fromCollection([2]).union(foreign!).map(identity)),
    /stream of another job/,
  );
  assert.match(
    refusal((env) => {
      const numbers = env.fromCollection([1]);
      numbers.union(numbers).map(identity);
    }),
    /united with itself/,
  );
});

test('a non-keyed stream does not connect with a keyed one', () => {
  assert.match(
    refusal((env) => {
      const numbers = env.fromCollection([1]);
      numbers.keyBy(identity).connect(numbers as never);
    }),
    /expected a stream keyed alike/,
  );
});
