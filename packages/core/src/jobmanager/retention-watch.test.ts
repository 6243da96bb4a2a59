import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sink } from '../api/sink.ts';
import type { Source } from '../api/source.ts';
import { ManualClock } from '../base/clock.ts';
import { planGuarantees } from '../graph/guarantee-planner.ts';
import type { GuaranteePlan } from '../graph/guarantee-planner.ts';
import { streamGraphOf } from '../graph/stream-graph-fixture.ts';
import type { CompletedCheckpoint } from '../protocol/checkpoint/completed-checkpoint-store.ts';
import { watchRetention } from './retention-watch.ts';

const HOUR_MS = 3_600_000;

/** A source that keeps its records for ten hours. */
function planOf(): GuaranteePlan {
  const source = { name: 'in', replay: 'offsets' } as Source<unknown>;
  const watermarks = { kind: 'none', outOfOrdernessMs: 0, idlenessMs: null } as const;
  const graph = streamGraphOf(
    {
      orders: { spec: { type: 'source', source, watermarks } },
      out: { spec: { type: 'sink', sink: { name: 'out', write: 'plain' } as Sink<unknown> } },
    },
    { 'orders -> out': null },
  );
  const facts = { retentionMs: 10 * HOUR_MS, retentionName: 'retention.ms of topic orders' };
  return planGuarantees(
    graph,
    { checkpoints: null, restartDelayMs: 0, defaultParallelism: 1, required: null },
    { sinks: new Map(), sources: new Map(graph.nodes.map(({ id }) => [id, facts])) },
  );
}

function watched(age: { ms: number | null }) {
  const clock = new ManualClock();
  const warnings: string[] = [];
  const startedAt = clock.wallTime();
  const stop = watchRetention({
    clock,
    logger: { log: (_level, message) => void warnings.push(message) },
    plan: planOf(),
    oldest: () =>
      age.ms === null
        ? null
        : ({ checkpointId: 7, triggeredAt: startedAt - age.ms } as CompletedCheckpoint),
  });
  return { clock, warnings, stop };
}

test('a checkpoint that comes near to the end of the retention is warned of once [R040]', () => {
  const { clock, warnings, stop } = watched({ ms: 8 * HOUR_MS });
  clock.advance(HOUR_MS - 60_000);
  assert.deepEqual(warnings, []);
  clock.advance(20 * 60_000);
  assert.equal(warnings.length, 1);
  assert.match(
    warnings[0] ?? '',
    /^checkpoint 7, the oldest that is kept, is 9 h old: in 59 min orders no longer has the rec/,
  );
  assert.match(warnings[0] ?? '', /\(retention.ms of topic orders\), and a restart from it/);
  stop();
  clock.advance(10 * HOUR_MS);
  assert.equal(warnings.length, 1, 'stopped');
});

test('what is too old already is told at the start, and again after it was mended', () => {
  const age: { ms: number | null } = { ms: 11 * HOUR_MS };
  const { clock, warnings } = watched(age);
  assert.match(warnings[0] ?? '', /11 h old: orders no longer has all records behind it/);
  age.ms = 0;
  clock.advance(60_000);
  age.ms = 11 * HOUR_MS;
  clock.advance(60_000);
  assert.equal(warnings.length, 2);
});

test('without a checkpoint there is nothing to warn of', () => {
  const { clock, warnings } = watched({ ms: null });
  clock.advance(100 * HOUR_MS);
  assert.deepEqual(warnings, []);
});
