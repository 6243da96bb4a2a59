import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SinkGuaranteeFacts } from '../api/guarantee-facts.ts';
import type { Sink, WriteMode } from '../api/sink.ts';
import type { Source } from '../api/source.ts';
import { operatorListState, valueState } from '../api/state-descriptors.ts';
import type { Guarantee } from '../api/stream-execution-environment.ts';
import { isWeirError } from '../base/errors.ts';
import {
  checkRequiredGuarantee,
  explainGuarantees,
  guaranteeWarnings,
} from './explain-guarantee.ts';
import { planGuarantees, wouldRepeat } from './guarantee-planner.ts';
import type { GuaranteeSettings, PathGuarantee } from './guarantee-planner.ts';
import { keyed, map, streamGraphOf } from './stream-graph-fixture.ts';
import type { NodeFixture } from './stream-graph-fixture.ts';

function sourceOf(
  replay: 'offsets' | 'none',
  boundedness: 'bounded' | 'unbounded' = 'unbounded',
): NodeFixture {
  const source = { name: 'orders', boundedness, replay } as Source<unknown>;
  const watermarks = { kind: 'none', outOfOrdernessMs: 0, idlenessMs: null } as const;
  return { spec: { type: 'source', source, watermarks } };
}

function sinkOf(write: WriteMode, facts: SinkGuaranteeFacts = {}): NodeFixture {
  const sink = { name: 'out', write, ...facts } as Sink<unknown>;
  return { spec: { type: 'sink', sink } };
}

const withState: NodeFixture = {
  spec: { type: 'keyedReduce', reduce: (a) => a },
};

const holding: NodeFixture = {
  spec: {
    type: 'process',
    fn: { state: { held: operatorListState<unknown>() }, onElement: () => undefined },
  },
};

const CHECKPOINTS = {
  intervalMs: 10_000,
  timeoutMs: 600_000,
  mode: 'EXACTLY_ONCE',
  retained: 1,
  endsWithOne: true,
} as const;
const EXACT: GuaranteeSettings = {
  checkpoints: CHECKPOINTS,
  restartDelayMs: 2600,
  defaultParallelism: 1,
  required: null,
};
const AT_LEAST: GuaranteeSettings = {
  ...EXACT,
  checkpoints: { ...CHECKPOINTS, mode: 'AT_LEAST_ONCE' },
};
const OFF: GuaranteeSettings = { ...EXACT, checkpoints: null };

function plan(
  source: NodeFixture,
  operator: NodeFixture,
  sink: NodeFixture,
  settings: GuaranteeSettings,
): PathGuarantee {
  const graph = streamGraphOf(
    { source, operator, sink },
    {
      'source -> operator': null,
      'operator -> sink': null,
    },
  );
  const [path] = planGuarantees(graph, settings).paths;
  assert.ok(path);
  return path;
}

const replayable = sourceOf('offsets');
const atomic = { confirmation: 'atomic' } as const;

/** source · operator · sink · settings → level, as the rules of the paper say. */
const CELLS: readonly [
  string,
  NodeFixture,
  NodeFixture,
  NodeFixture,
  GuaranteeSettings,
  Guarantee,
][] = [
  ['unacknowledged', replayable, map, sinkOf('unacknowledged'), EXACT, 'none'],
  ['checkpoints off', replayable, map, sinkOf('two-phase-commit'), OFF, 'at-most-once'],
  ['no replay', sourceOf('none'), map, sinkOf('two-phase-commit'), EXACT, 'at-most-once'],
  ['no replay, log', sourceOf('none'), map, sinkOf('write-ahead-log'), EXACT, 'none'],
  [
    'no replay, atomic log',
    sourceOf('none'),
    map,
    sinkOf('write-ahead-log', atomic),
    EXACT,
    'at-most-once',
  ],
  ['no replay, timers', sourceOf('none'), keyed(), sinkOf('plain'), EXACT, 'none'],
  ['no replay, timers by key', sourceOf('none'), keyed(), sinkOf('idempotent'), EXACT, 'none'],
  ['no replay, held records', sourceOf('none'), holding, sinkOf('plain'), EXACT, 'none'],
  ['no replay, state', sourceOf('none'), withState, sinkOf('plain'), EXACT, 'at-most-once'],
  ['no replay, plain', sourceOf('none'), map, sinkOf('plain'), EXACT, 'at-most-once'],
  ['mode at least once', replayable, map, sinkOf('two-phase-commit'), AT_LEAST, 'at-least-once'],
  ['stateless idempotent', replayable, map, sinkOf('idempotent'), AT_LEAST, 'exactly-once'],
  ['stateful idempotent', replayable, withState, sinkOf('idempotent'), AT_LEAST, 'at-least-once'],
  ['plain', replayable, map, sinkOf('plain'), EXACT, 'at-least-once'],
  ['idempotent', replayable, map, sinkOf('idempotent'), EXACT, 'exactly-once'],
  ['idempotent, order counts', replayable, withState, sinkOf('idempotent'), EXACT, 'at-least-once'],
  [
    'idempotent, converges',
    replayable,
    withState,
    sinkOf('idempotent', { converges: true }),
    EXACT,
    'exactly-once',
  ],
  [
    'idempotent, timers',
    replayable,
    keyed(),
    sinkOf('idempotent', { converges: true }),
    EXACT,
    'at-least-once',
  ],
  ['log', replayable, map, sinkOf('write-ahead-log'), EXACT, 'at-least-once'],
  ['atomic log', replayable, map, sinkOf('write-ahead-log', atomic), EXACT, 'exactly-once'],
  ['two phases', replayable, keyed(), sinkOf('two-phase-commit'), EXACT, 'exactly-once'],
];

for (const [name, source, operator, sink, settings, level] of CELLS)
  test(`the planner computes ${level} for: ${name}`, () => {
    const path = plan(source, operator, sink, settings);
    assert.equal(path.level, level);
    assert.equal(path.weakest === null, level === 'exactly-once');
  });

test('an idempotent path is exact in the end, and says that values may go back meanwhile', () => {
  assert.equal(plan(replayable, map, sinkOf('idempotent'), EXACT).isPassingInconsistent, true);
  const path = plan(replayable, map, sinkOf('two-phase-commit'), EXACT);
  assert.equal(path.isPassingInconsistent, false);
});

test('without replay, what a function may keep and emit later is spoken of', () => {
  const fn = { onElement: () => undefined };
  const notesWith = (state: object, write: WriteMode): readonly string[] => {
    const operator: NodeFixture = { spec: { type: 'process', fn: { ...fn, state } } };
    return plan(sourceOf('none'), operator, sinkOf(write), EXACT).notes;
  };
  const held = { held: valueState() };
  assert.match(notesWith(held, 'plain').join(), /keeps and emits later may come twice/);
  assert.deepEqual(notesWith({}, 'plain'), []);
  assert.deepEqual(notesWith(held, 'two-phase-commit'), []);
  assert.deepEqual(plan(sourceOf('none'), withState, sinkOf('plain'), EXACT).notes, []);
});

test('what ends without a last checkpoint may publish its last results twice', () => {
  const settings = { ...EXACT, checkpoints: { ...CHECKPOINTS, endsWithOne: false } };
  const sink = sinkOf('two-phase-commit');
  const ending = plan(sourceOf('offsets', 'bounded'), map, sink, settings);
  assert.equal(ending.level, 'at-least-once');
  assert.match(ending.weakest ?? '', /orders ends.*checkpoints-after-tasks-finish: true would/);
  assert.equal(plan(sourceOf('offsets'), map, sink, settings).level, 'exactly-once');
  assert.equal(plan(sourceOf('offsets', 'bounded'), map, sink, EXACT).level, 'exactly-once');
});

test('the job is as weak as its weakest path, and both are shown', () => {
  const graph = streamGraphOf(
    { orders: replayable, totals: sinkOf('two-phase-commit'), audit: sinkOf('plain') },
    { 'orders -> totals': null, 'orders -> audit': null },
  );
  const found = planGuarantees(graph, EXACT);
  assert.equal(found.level, 'at-least-once');
  const text = explainGuarantees(found).join('\n');
  assert.match(text, /^guarantee {2}at-least-once/);
  assert.match(text, /orders \(replayable\) → totals \(two phase commit\) +exactly-once/);
  assert.match(text, /weakest: out writes plainly; an idempotent or transactional sink/);
});

test('a time budget not kept is shown with both values, and refused when required [R067]', () => {
  const sink = sinkOf('two-phase-commit', { transactionTimeoutMs: 300_000 });
  const graph = streamGraphOf({ orders: replayable, out: sink }, { 'orders -> out': null });
  const found = planGuarantees(graph, { ...EXACT, required: 'exactly-once' });
  const text = explainGuarantees(found).join('\n');
  assert.match(text, /required: exactly-once ✗/);
  assert.match(text, /10 s interval \+ 600 s time-out \+ 2.6 s restart = 612.6 s ≥ 300 s/);
  assert.throws(
    () => checkRequiredGuarantee(found),
    (error) => isWeirError(error) && /time budget is not kept/.test(error.message),
  );
  const longer = sinkOf('two-phase-commit', { transactionTimeoutMs: 900_000 });
  const kept = streamGraphOf({ orders: replayable, out: longer }, { 'orders -> out': null });
  checkRequiredGuarantee(planGuarantees(kept, { ...EXACT, required: 'exactly-once' }));
});

test("the outer system's maximum is shown beside the transaction time-out [R067]", () => {
  const sink = sinkOf('two-phase-commit', { transactionTimeoutMs: 900_000 });
  const graph = streamGraphOf({ orders: replayable, out: sink }, { 'orders -> out': null });
  const name = { transactionTimeoutMaxName: 'max.timeout' };
  const at = (maximumMs: number) =>
    planGuarantees(graph, EXACT, {
      sources: new Map(),
      sinks: new Map(
        graph.nodes.map(({ id }) => [id, { transactionTimeoutMaxMs: maximumMs, ...name }]),
      ),
    });
  assert.equal(
    explainGuarantees(at(900_000)).at(-1),
    '             900 s transaction ≤ 900 s max.timeout ✓',
  );
  assert.match(explainGuarantees(at(60_000)).join('\n'), /900 s transaction > 60 s max.timeout ✗/);
  const required = { ...at(60_000), required: 'exactly-once' } as const;
  assert.throws(() => checkRequiredGuarantee(required), /time budget is not kept/);
});

test('checkpoints kept for longer than a source keeps its records are warned of [R040]', () => {
  const graph = streamGraphOf(
    { orders: replayable, out: sinkOf('plain') },
    { 'orders -> out': null },
  );
  const at = (retentionMs: number, retained: number, off = false) =>
    guaranteeWarnings(
      planGuarantees(
        graph,
        { ...EXACT, checkpoints: off ? null : { ...EXACT.checkpoints!, retained } },
        {
          sinks: new Map(),
          sources: new Map(
            graph.nodes.map(({ id }) => [id, { retentionMs, retentionName: 'retention of t' }]),
          ),
        },
      ),
    );
  assert.match(
    at(60_000, 6)[0] ?? '',
    /kept is ≈ 1 min old, and orders can be read again for 1 min \(retention of t\): a restart/,
  );
  assert.equal(at(60_000, 5).length, 0, 'a sixth is left');
  assert.equal(at(60_000, 100, true).length, 0, 'nothing is kept');
});

test('what the system of a sink says against its level is a warning, once', () => {
  const graph = streamGraphOf(
    { orders: replayable, more: replayable, out: sinkOf('idempotent') },
    { 'orders -> out': null, 'more -> out': null },
  );
  const facts = { warnings: ['it keeps nothing on disk'] };
  const sinks = new Map(graph.nodes.map(({ id }) => [id, facts]));
  const plan = planGuarantees(graph, EXACT, { sources: new Map(), sinks });
  assert.deepEqual(guaranteeWarnings(plan), ['out: it keeps nothing on disk']);
});

test('without checkpoints a killed run may be begun again only where nothing is doubled', () => {
  const repeats = (sink: NodeFixture, settings: GuaranteeSettings): boolean =>
    wouldRepeat(streamGraphOf({ orders: replayable, sink }, { 'orders -> sink': null }), settings);
  assert.equal(repeats(sinkOf('plain'), OFF), true);
  assert.equal(repeats(sinkOf('plain'), EXACT), false);
  assert.equal(repeats(sinkOf('two-phase-commit'), OFF), false, 'nothing of it was published');
  assert.equal(repeats(sinkOf('plain', { isVolatile: true }), OFF), false, 'a console');
});

test('a level that is required and not reached names the weakest component [R028]', () => {
  const graph = streamGraphOf(
    { orders: replayable, audit: sinkOf('plain') },
    { 'orders -> audit': null },
  );
  const found = planGuarantees(graph, { ...EXACT, required: 'exactly-once' });
  assert.throws(
    () => checkRequiredGuarantee(found),
    /exactly-once is required, and orders .* reaches at-least-once: out writes plainly/,
  );
  checkRequiredGuarantee(planGuarantees(graph, { ...EXACT, required: 'at-least-once' }));
});
