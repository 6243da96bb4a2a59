import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { buildStreamGraph } from './api/build-stream-graph.ts';
import { boundedOutOfOrderness, fileSink, fileSource, job, ndjson, valueState } from './index.ts';

interface Order {
  readonly customer: string;
  readonly amount: number;
  readonly placedAt: number;
}

const orderTotals = job('order-totals', (env) => {
  env.enableCheckpointing('10s');
  env
    .fromSource(fileSource({ path: env.args.string('input'), format: ndjson<Order>() }), {
      uid: 'orders',
      watermarks: boundedOutOfOrderness('5s', (o) => o.placedAt),
    })
    .keyBy((o) => o.customer)
    .process({
      state: { total: valueState({ default: 0 }) },
      onElement(order, ctx) {
        const total = ctx.state.total.value + order.amount;
        ctx.state.total.update(total);
        ctx.emit({ customer: ctx.key, total });
      },
    })
    .uid('totals')
    .sinkTo(fileSink({ path: env.args.string('output'), format: ndjson() }))
    .uid('totals-out');
});

test('the first job of the documentation builds its graph', () => {
  const { graph, settings } = buildStreamGraph(orderTotals, {
    args: { input: '/data/orders.ndjson', output: '/data/totals' },
  });
  assert.deepEqual(
    graph.nodes.map((node) => node.uid),
    ['orders', 'totals', 'totals-out'],
  );
  assert.deepEqual(
    graph.edges.map((edge) => edge.partitioner?.type ?? null),
    ['hash', null],
  );
  assert.equal(settings.configuration.get('execution.checkpointing.interval'), 10_000);
  assert.deepEqual(settings.argumentsUnread, []);
});

/** Modules that the file at `url` loads, by itself or through others; not those loaded lazily. */
function modulesOf(url: URL, found: Set<string> = new Set()): ReadonlySet<string> {
  const source = readFileSync(url, 'utf8');
  for (const [, specifier] of source.matchAll(/^(?:import|export) (?!type )[^;]*?'([^']+)';/gms)) {
    const target = specifier!.startsWith('.') ? new URL(specifier!, url) : null;
    const name = target?.href ?? specifier!;
    if (found.has(name)) continue;
    found.add(name);
    if (target !== null) modulesOf(target, found);
  }
  return found;
}

test('the entry of jobs loads no server, no bundler and no reader of schemas or YAML', () => {
  const modules = [...modulesOf(new URL('./index.ts', import.meta.url))];
  assert.ok(modules.length > 40, 'the walk found the files of the API');
  const heavy = /^(node:(http|https|net|worker_threads|child_process)|esbuild|zod|yaml|fastify)/;
  assert.deepEqual(
    modules.filter((name) => heavy.test(name)),
    [],
  );
  assert.deepEqual(
    modules.filter((name) => /\/src\/(cli|rest|cluster|jobmanager|taskmanager)\//.test(name)),
    [],
  );
});
