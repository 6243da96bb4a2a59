import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  OuterShare,
  SinkGuaranteeFacts,
  SourceGuaranteeFacts,
} from '../api/guarantee-facts.ts';
import type { Sink } from '../api/sink.ts';
import type { ConnectorEnvironment, Source } from '../api/source.ts';
import { ManualClock } from '../base/clock.ts';
import { StorageUnavailableError, WeirError } from '../base/errors.ts';
import { silentLogger } from '../base/logger.ts';
import { seededRandom } from '../base/random.ts';
import { streamGraphOf } from '../graph/stream-graph-fixture.ts';
import type { NodeFixture } from '../graph/stream-graph-fixture.ts';
import { MemoryFileSystem } from '../storage/memory-file-system.ts';
import { askOuterSystems, outerAnswers } from './outer-facts.ts';

type AskSource = NonNullable<SourceGuaranteeFacts['askOuterSystem']>;
type AskSink = NonNullable<SinkGuaranteeFacts['askOuterSystem']>;

function graphOf(askSource: AskSource, askSink: AskSink) {
  const source = { name: 'in', replay: 'offsets', askOuterSystem: askSource };
  const sink = { name: 'out', write: 'plain', askOuterSystem: askSink };
  const watermarks = { kind: 'none', outOfOrdernessMs: 0, idlenessMs: null } as const;
  const nodes: Record<string, NodeFixture> = {
    orders: {
      spec: { type: 'source', source: source as unknown as Source<unknown>, watermarks },
    },
    out: { spec: { type: 'sink', sink: sink as unknown as Sink<unknown> } },
  };
  return streamGraphOf(nodes, { 'orders -> out': null });
}

function environmentOn(clock: ManualClock): ConnectorEnvironment {
  const fileSystem = new MemoryFileSystem();
  return { clock, fileSystem, random: seededRandom(1), logger: silentLogger };
}

const RETENTION = { retentionMs: 1000, retentionName: 'retention' };
const MAXIMUM = { transactionTimeoutMaxMs: 2000, transactionTimeoutMaxName: 'maximum' };

test('every source and sink is asked, and answers by its node', async () => {
  const graph = graphOf(
    async () => RETENTION,
    async (_environment, { parallelism }) => {
      assert.equal(parallelism, 4);
      return MAXIMUM;
    },
  );
  const { sources, sinks } = await askOuterSystems(graph, environmentOn(new ManualClock()), 4);
  assert.deepEqual([[...sources.values()], [...sinks.values()]], [[RETENTION], [MAXIMUM]]);
});

test('a system that is away is left to the run; one that refuses ends the start', async () => {
  const away: AskSource = async () => Promise.reject(new StorageUnavailableError('away'));
  const fine: AskSink = async () => MAXIMUM;
  const environment = environmentOn(new ManualClock());
  const { sources, sinks } = await askOuterSystems(graphOf(away, fine), environment, 1);
  assert.deepEqual([sources.size, sinks.size], [0, 1]);
  const refuses: AskSink = async () =>
    Promise.reject(new WeirError('user', 'above the maximum', { code: 'SINK_UNAVAILABLE' }));
  const asking = askOuterSystems(graphOf(away, refuses), environment, 1);
  await assert.rejects(asking, /^WeirError: sink out: above the maximum$/);
});

test('everything that is refused is told at once, by source and sink', async () => {
  const older: AskSource = async () =>
    Promise.reject(new WeirError('user', 'too old', { code: 'SOURCE_UNAVAILABLE' }));
  const misfit: AskSink = async () => ({ refusals: ['no table', 'no column'] });
  const asking = askOuterSystems(graphOf(older, misfit), environmentOn(new ManualClock()), 1);
  await assert.rejects(asking, {
    kind: 'user',
    message:
      'the job cannot start, for 3 reasons:\n  - source orders: too old\n' +
      '  - sink out: no table\n  - sink out: no column',
  });
});

test('who could not be asked is named, with the reason', async () => {
  const clock = new ManualClock();
  const away: AskSource = async () => Promise.reject(new StorageUnavailableError('away'));
  const silent: AskSink = () => new Promise(() => undefined);
  const asking = outerAnswers(graphOf(away, silent), environmentOn(clock), 1);
  await Promise.resolve();
  clock.advance(3000);
  const { unanswered, refusals } = await asking;
  assert.deepEqual(refusals, []);
  assert.deepEqual(unanswered, [
    'source orders could not be asked whether it fits: away; a run looks again when it starts',
    'sink out could not be asked whether it fits: no answer within 3 s; a run looks again when ' +
      'it starts',
  ]);
});

test('a system that does not answer is not waited for; what comes later is dropped', async () => {
  const clock = new ManualClock();
  const late = Promise.withResolvers<typeof RETENTION>();
  const graph = graphOf(
    () => late.promise,
    async () => MAXIMUM,
  );
  const asking = askOuterSystems(graph, environmentOn(clock), 1);
  await Promise.resolve();
  clock.advance(3000);
  const { sources, sinks } = await asking;
  late.resolve(RETENTION);
  await late.promise;
  assert.deepEqual([sources.size, sinks.size], [0, 1]);
});

test('sinks that need more of one system together than there is are refused [R067]', async () => {
  const share = { of: 'a', place: 'The base', setting: 'slots', max: 7, remedy: 'and restart it' };
  const graphWith = (...sinks: readonly (readonly [string, Partial<OuterShare>])[]) => {
    const nodes: Record<string, NodeFixture> = {};
    for (const [name, own] of sinks) {
      const parts = { needed: 4, usedByOthers: 0, reason: '2 for each', ...share, ...own };
      const sink = { name, write: 'plain', askOuterSystem: async () => ({ shares: [parts] }) };
      nodes[name] = { spec: { type: 'sink', sink: sink as unknown as Sink<unknown> } };
    }
    return streamGraphOf(nodes, {});
  };
  const ask = (...sinks: readonly (readonly [string, Partial<OuterShare>])[]) =>
    askOuterSystems(graphWith(...sinks), environmentOn(new ManualClock()), 1);
  await assert.rejects(ask(['rows', {}], ['lines', { usedByOthers: 2 }]), {
    kind: 'user',
    message:
      'The base has slots = 7; the 2 sinks of this job that use it need 8 together ' +
      '(rows: 2 for each; lines: 2 for each). Set slots to at least 8 and restart it',
  });
  await assert.rejects(ask(['rows', { usedByOthers: 4 }]), {
    message:
      'The base has slots = 7, of which others use 4; this sink needs 4 (2 for each). ' +
      'Set slots to at least 8 and restart it',
  });
  await ask(['rows', {}], ['lines', { of: 'b' }], ['words', { needed: 3 }]);
});
