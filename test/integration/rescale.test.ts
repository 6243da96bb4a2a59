/** Runs that go on at another parallelism: keyed, list, union and broadcast state, and timers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  broadcastState,
  job,
  monotonousTimestamps,
  operatorListState,
  type,
  unionListState,
  valueState,
} from '@weir/core';
import type {
  Job,
  OperatorListStateDescriptor,
  OperatorStateDeclaration,
  ProcessContext,
  ProcessFunction,
  RuntimeContext,
  WeirError,
} from '@weir/core';
import { Faults, numbersOf, range, sorted } from './support/faults.ts';
import { Ledger, ledgerSink } from './support/ledger-sink.ts';
import { pacedSource } from './support/paced-source.ts';
import { resumable } from './support/resumable.ts';
import { eventsOf } from './support/run.ts';

interface Counted {
  readonly key: number;
  readonly n: number;
}

const VALUES = range(0, 160);
const SPLITS = range(0, 5).map((split) => VALUES.filter((value) => value % 5 === split));

function countJob(ledger: Ledger<Counted>, faults: Faults, step = 6) {
  return job('counts', (env) => {
    env
      .fromSource(pacedSource({ splits: SPLITS, step }), { uid: 'in' })
      .keyBy((n) => n % 11)
      .process({
        emits: type<Counted>(),
        state: { n: valueState({ default: 0 }) },
        onElement(_value, context) {
          context.state.n.update(context.state.n.value + 1);
          faults.tick();
          context.emit({ key: context.key, n: context.state.n.value });
        },
      })
      .uid('counts')
      .sinkTo(ledgerSink(ledger))
      .uid('out');
  });
}

function assertExact(committed: readonly Counted[]): void {
  const expected = range(0, 11).flatMap((key) =>
    VALUES.filter((value) => value % 11 === key).map((_, index) => ({ key, n: index + 1 })),
  );
  assert.deepEqual(sorted(committed), sorted(expected));
}

for (const seed of range(0, 6))
  test(`keyed state and sink are exact over runs at 2, 3 and 1 subtasks, seed ${seed} [R061]`, () =>
    resumable(async ({ crash, finish }) => {
      const random = numbersOf(seed + 50);
      const ledger = new Ledger<Counted>();
      const faults = new Faults();
      for (const parallelism of [2, 3, 1]) {
        faults.planTick(15 + random(25));
        await crash(countJob(ledger, faults), { parallelism });
      }
      const { events } = await finish(countJob(ledger, faults), { parallelism: 1 + random(4) });
      assert.match(eventsOf(events, 'started')[0]?.start ?? '', /resumes from checkpoint \d+ /);
      assertExact(ledger.committed);
      assert.deepEqual(ledger.pending, []);
    }));

interface KeeperOptions {
  readonly mode: 'list' | 'union';
  /** Items that a subtask adds when it starts. */
  readonly initial: (subtask: number) => readonly string[];
  /** What a subtask then makes of its items; null: it leaves them. */
  readonly change?: (subtask: number, items: readonly string[]) => readonly string[] | null;
  /** The items of each subtask, as it then has them. */
  readonly seen: Map<number, readonly string[]>;
  readonly faults: Faults;
}

class Keeper implements ProcessFunction<number, never, KeeperState> {
  readonly state: KeeperState;
  readonly #options: KeeperOptions;
  #subtask = 0;
  #count = 0;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.state = { items: options.mode === 'list' ? operatorListState() : unionListState() };
  }

  open({ subtask }: RuntimeContext): void {
    this.#subtask = subtask;
  }

  onElement(_n: number, { state: { items } }: ProcessContext<never, KeeperState>): void {
    const { initial, change, seen, faults } = this.#options;
    const subtask = this.#subtask;
    if (this.#count++ === 0) {
      items.addAll(initial(subtask));
      const changed = change?.(subtask, items.get()) ?? null;
      if (changed !== null) items.update(changed);
      seen.set(subtask, [...items.get()]);
    }
    // By then there was a checkpoint.
    if (subtask === 0 && this.#count === 4) faults.pass('stop');
  }
}

interface KeeperState extends OperatorStateDeclaration {
  readonly items: OperatorListStateDescriptor<string>;
}

function operatorStateJob(options: KeeperOptions): Job {
  return job('operator state', (env) => {
    const splits = range(0, 8).map(() => range(0, 6));
    env
      .fromSource(pacedSource({ splits, step: 1 }), { uid: 'in' })
      .rebalance()
      .process(new Keeper(options))
      .uid('keeper')
      .collect([]);
  });
}

const NOTHING = (): readonly string[] => [];

test('list items are dealt out in turn: [a,b,c] and [d,e] at 3 are [a,b] [c,d] [e] [I-66]', () =>
  resumable(async ({ crash, finish }) => {
    const faults = new Faults();
    const seen = new Map<number, readonly string[]>();
    const initial = (subtask: number): readonly string[] =>
      subtask === 0 ? ['a', 'b', 'c'] : ['d', 'e'];
    faults.plan('stop');
    await crash(operatorStateJob({ mode: 'list', initial, seen, faults }), { parallelism: 2 });
    seen.clear();
    await finish(operatorStateJob({ mode: 'list', initial: NOTHING, seen, faults }), {
      parallelism: 3,
    });
    assert.deepEqual(
      [0, 1, 2].map((subtask) => seen.get(subtask)),
      [['a', 'b'], ['c', 'd'], ['e']],
    );
  }));

test('union items go to every subtask, and do not multiply from run to run [I-67]', () =>
  resumable(async ({ crash, finish }) => {
    const faults = new Faults();
    const seen = new Map<number, readonly string[]>();
    const initial = (subtask: number): readonly string[] => [subtask === 0 ? 'a' : 'b'];
    faults.plan('stop');
    await crash(operatorStateJob({ mode: 'union', initial, seen, faults }), { parallelism: 2 });
    for (const parallelism of [3, 3, 1]) {
      seen.clear();
      faults.plan('stop');
      await crash(operatorStateJob({ mode: 'union', initial: NOTHING, seen, faults }), {
        parallelism,
      });
      for (const subtask of range(0, parallelism))
        assert.deepEqual(sorted(seen.get(subtask) ?? []), ['a', 'b']);
    }
    await finish(operatorStateJob({ mode: 'union', initial: NOTHING, seen, faults }));
  }));

test('what its owner removes from a union list is gone, though others were given it [R062]', () =>
  resumable(async ({ crash, finish }) => {
    const faults = new Faults();
    const seen = new Map<number, readonly string[]>();
    const job = (options: Partial<Parameters<typeof operatorStateJob>[0]> = {}) =>
      operatorStateJob({ mode: 'union', initial: NOTHING, seen, faults, ...options });
    faults.plan('stop');
    await crash(job({ initial: () => ['K'] }), { parallelism: 1 });
    faults.plan('stop');
    await crash(
      job({
        change: (subtask, items) => (subtask === 0 ? items.filter((it) => it !== 'K') : null),
      }),
      { parallelism: 2 },
    );
    seen.clear();
    await finish(job(), { parallelism: 2 });
    assert.deepEqual([...seen.values()].flat(), []);
  }));

test('broadcast state is on every subtask, of more as of fewer [I-67]', () =>
  resumable(async ({ crash, finish }) => {
    const faults = new Faults();
    let seen: string[] = [];
    const withRules = (rules: readonly string[]) =>
      job('rules', (env) => {
        const stream = env
          .fromSource(pacedSource({ splits: [rules], name: 'Rules' }), { uid: 'rules' })
          .broadcast({ rules: broadcastState<string, number>() });
        env
          .fromSource(pacedSource({ splits: range(0, 6).map(() => range(0, 8)), step: 1 }), {
            uid: 'in',
          })
          .rebalance()
          .connect(stream)
          .process({
            emits: type<string>(),
            onElement(n, context) {
              const names = [...context.broadcast.rules.keys()].toSorted().join();
              if (n > 4) context.emit(names);
              if (n === 6 && names === 'x,y') faults.pass('stop');
            },
            onBroadcastElement(rule, context) {
              context.broadcast.rules.put(rule, 1);
            },
          })
          .uid('rules-user')
          .collect(seen);
      });
    for (const parallelism of [2, 3, 1]) {
      faults.plan('stop');
      seen = [];
      await crash(withRules(['x', 'y']), { parallelism });
      assert.ok(seen.length > 0 && seen.every((names) => names === 'x,y'), seen.join(' '));
    }
    await finish(withRules(['x', 'y']), { parallelism: 2 });
  }));

test('timers come along with their keys, and none fires twice or never', () =>
  resumable(async ({ crash, finish }) => {
    const faults = new Faults();
    const ledger = new Ledger<string>();
    const keys = range(0, 20);
    const timers = () =>
      job('timers', (env) => {
        env
          .fromSource(
            pacedSource({
              // First all keys, at time 0; then time goes on.
              splits: [[...keys.map((key) => [key, 0]), ...range(1, 60).map((time) => [-1, time])]],
              step: 15,
              onRead: ([, time]) => faults.pass(`time ${time}`),
            }),
            { uid: 'in', watermarks: monotonousTimestamps(([, time]) => time ?? 0) },
          )
          .keyBy(([key]) => key ?? 0)
          .process({
            emits: type<string>(),
            onElement(_record, context) {
              if (context.key >= 0) context.timerService.registerEventTimeTimer(10 + context.key);
            },
            onTimer: (timestamp, context) => context.emit(`${context.key} at ${timestamp}`),
          })
          .uid('timers')
          .sinkTo(ledgerSink(ledger))
          .uid('out');
      });
    for (const [parallelism, time] of [
      [2, 16],
      [3, 24],
      [1, 40],
    ] as const) {
      faults.plan(`time ${time}`);
      await crash(timers(), { parallelism });
    }
    await finish(timers(), { parallelism: 2 });
    assert.deepEqual(sorted(ledger.committed), sorted(keys.map((key) => `${key} at ${10 + key}`)));
  }));

test('a subtask that saw no records leaves nothing that a rescale would miss [R061]', () =>
  resumable(async ({ crash, finish }) => {
    const faults = new Faults();
    const results: string[] = [];
    const few = (records: readonly string[]) =>
      job('few keys', (env) => {
        env
          .fromSource(
            pacedSource({ splits: [records], step: 1, onRead: (text) => faults.pass(text) }),
            { uid: 'in' },
          )
          .keyBy(() => 'only')
          .process({
            emits: type<string>(),
            state: { text: valueState({ default: '' }) },
            onElement(text, context) {
              context.state.text.update(context.state.text.value + text);
              context.emit(context.state.text.value);
            },
          })
          .uid('texts')
          .collect(results);
      });
    const records = ['a', 'b', 'c', 'd'];
    for (const [text, parallelism] of [
      ['b', 4],
      ['c', 2],
    ] as const) {
      faults.plan(text);
      await crash(few(records), { parallelism });
    }
    await finish(few(records), { parallelism: 8 });
    assert.equal(results.at(-1), 'abcd');
  }));

test('a keyed job goes on at no more subtasks than its state has key groups [R064]', () =>
  resumable(async ({ crash, finish }) => {
    const ledger = new Ledger<Counted>();
    const faults = new Faults();
    faults.planTick(60);
    await crash(countJob(ledger, faults), { parallelism: 2 });
    await assert.rejects(
      finish(countJob(ledger, faults), { parallelism: 129 }),
      (error: WeirError) => {
        assert.equal(error.code, 'STATE_INCOMPATIBLE');
        assert.match(error.message, /128/);
        return true;
      },
    );
    await finish(countJob(ledger, faults), { parallelism: 5 });
    assertExact(ledger.committed);
  }));

test('a job without keys may go on at any number of subtasks [R064]', () =>
  resumable(async ({ crash, finish }) => {
    const ledger = new Ledger<number>();
    const faults = new Faults();
    const stateless = job('stateless', (env) => {
      env
        .fromSource(pacedSource({ splits: SPLITS, step: 6 }), { uid: 'in' })
        .map((n) => {
          faults.tick();
          return n;
        })
        .sinkTo(ledgerSink(ledger))
        .uid('out');
    });
    faults.planTick(60);
    await crash(stateless, { parallelism: 2 });
    await finish(stateless, { parallelism: 129 });
    assert.deepEqual(sorted(ledger.committed), sorted(VALUES));
  }));
