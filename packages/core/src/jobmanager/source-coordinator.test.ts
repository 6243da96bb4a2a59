import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Source, SplitEnumeratorContext } from '../api/source.ts';
import { decodeValue, encodeValue } from '../base/codec/value-codec.ts';
import { ManualClock } from '../base/clock.ts';
import type { OperatorId } from '../base/ids.ts';
import { seededRandom } from '../base/random.ts';
import type { ReaderEvent } from '../protocol/messages.ts';
import { MemoryFileSystem } from '../storage/memory-file-system.ts';
import { SourceCoordinator } from './source-coordinator.ts';

/** Hands out its splits one at a time; calls may be made to wait. */
interface TestEnumerator {
  readonly coordinator: SourceCoordinator;
  readonly sent: string[];
  readonly calls: string[];
  readonly failures: unknown[];
  /** What the enumerator still has. */
  splits: string[];
  /** The next call waits for this. */
  gate: Promise<void> | null;
  readonly context: () => SplitEnumeratorContext<unknown>;
}

function coordinatorOf(
  splits: string[],
  checkpointId = 0,
  restored?: readonly string[],
): TestEnumerator {
  const sent: string[] = [];
  const calls: string[] = [];
  const failures: unknown[] = [];
  let context: SplitEnumeratorContext<unknown> | null = null;
  const wait = async (name: string): Promise<void> => {
    calls.push(name);
    const { gate } = result;
    result.gate = null;
    await gate;
  };
  const source = {
    name: 'Test',
    createEnumerator: (given: SplitEnumeratorContext<unknown>, state?: readonly string[]) => {
      context = given;
      if (state !== undefined) result.splits = [...state];
      return {
        start: () => wait('start'),
        async handleSplitRequest(subtask: number) {
          await wait(`request ${subtask}`);
          const split = result.splits.shift();
          if (split === undefined) given.signalNoMoreSplits(subtask);
          else given.assignSplits(subtask, [split]);
        },
        addReader: (subtask: number) => void calls.push(`reader ${subtask}`),
        addSplitsBack(back: readonly string[], subtask: number) {
          calls.push(`back ${back.join(',')} of ${subtask}`);
          result.splits.push(...back);
        },
        snapshotState: () => [...result.splits],
        close: () => void calls.push('close'),
      };
    },
  } as unknown as Source<unknown>;
  const result: Omit<TestEnumerator, 'coordinator'> & { coordinator?: SourceCoordinator } = {
    sent,
    calls,
    failures,
    splits,
    gate: null,
    context: () => context as SplitEnumeratorContext<unknown>,
  };
  const options = {
    operatorId: '1'.repeat(32) as OperatorId,
    uid: 'source',
    source,
    parallelism: 2,
    clock: new ManualClock(),
    random: seededRandom(1),
    fileSystem: new MemoryFileSystem(),
    logger: { log: () => undefined },
    send: (subtask: number, event: ReaderEvent) =>
      void sent.push(
        event.type === 'addSplits'
          ? `${subtask} ${event.splits.join(',')}`
          : `${subtask} ${event.type}`,
      ),
    fail: (error: unknown) => void failures.push(error),
  };
  const snapshot =
    restored === undefined
      ? null
      : { operatorId: options.operatorId, uid: 'source', bytes: encodeValue([...restored]) };
  const coordinator = new SourceCoordinator(options, snapshot, checkpointId);
  return Object.assign(result, { coordinator });
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

async function request(coordinator: SourceCoordinator, subtask: number): Promise<void> {
  coordinator.handle(subtask, { type: 'splitRequest' });
  await settle();
}

test('calls of the enumerator come one after the other', async () => {
  const test = coordinatorOf(['a', 'b']);
  const gate = Promise.withResolvers<void>();
  test.gate = gate.promise;
  test.coordinator.start();
  test.coordinator.handle(0, { type: 'readerRegistered' });
  await request(test.coordinator, 0);
  assert.deepEqual(test.calls, ['start']);
  gate.resolve();
  await settle();
  assert.deepEqual(test.calls, ['start', 'reader 0', 'request 0']);
  assert.deepEqual(test.sent, ['0 a']);
  assert.deepEqual(test.context().registeredReaders(), [0]);
});

test('each split is in the snapshot of the enumerator or was assigned before it', async () => {
  const { coordinator, sent } = coordinatorOf(['a', 'b', 'c']);
  await request(coordinator, 0);
  const snapshot = coordinator.snapshot(1);
  await request(coordinator, 1);
  assert.deepEqual(decodeValue(snapshot?.bytes as Uint8Array), ['b', 'c']);
  assert.deepEqual(sent, ['0 a', '1 b']);
});

test('an enumerator that is still starting is in a checkpoint what it was made from', async () => {
  const test = coordinatorOf(['found later'], 7, ['x']);
  const gate = Promise.withResolvers<void>();
  test.gate = gate.promise;
  test.coordinator.start();
  await settle();
  test.splits = [];
  assert.deepEqual(decodeValue(test.coordinator.snapshot(8)?.bytes as Uint8Array), ['x']);
  test.splits = ['x', 'found'];
  gate.resolve();
  await settle();
  assert.deepEqual(decodeValue(test.coordinator.snapshot(9)?.bytes as Uint8Array), ['x', 'found']);

  const fresh = coordinatorOf([]);
  fresh.gate = Promise.withResolvers<void>().promise;
  fresh.coordinator.start();
  await settle();
  assert.equal(fresh.coordinator.snapshot(1), null, 'a restore starts it anew');
});

test('there is no checkpoint while splits are on their way back to the enumerator', async () => {
  const test = coordinatorOf(['a', 'b']);
  await request(test.coordinator, 0);
  const gate = Promise.withResolvers<void>();
  test.gate = gate.promise;
  await request(test.coordinator, 1);
  test.coordinator.readersReset([0], 0);
  assert.throws(() => test.coordinator.snapshot(1), /splits are being given back to Test/);
  gate.resolve();
  await settle();
  assert.deepEqual(decodeValue(test.coordinator.snapshot(2)?.bytes as Uint8Array), ['a']);
});

test('splits assigned since the checkpoint come back when readers restart from it', async () => {
  const { coordinator, calls, splits } = coordinatorOf(['a', 'b', 'c', 'd']);
  await request(coordinator, 0);
  coordinator.snapshot(1);
  await request(coordinator, 0);
  await request(coordinator, 1);
  coordinator.notifyCheckpointComplete(1);
  coordinator.readersReset([0], 1);
  await settle();
  assert.deepEqual(
    calls.slice(-1),
    ['back b of 0'],
    'a is in the state of the reader, c of another',
  );
  assert.deepEqual(splits, ['d', 'b']);
  coordinator.readersReset([0], 1);
  await settle();
  assert.equal(calls.filter((call) => call.startsWith('back')).length, 1, 'once only');
});

test('splits assigned since an older checkpoint come back if the newer one failed', async () => {
  const { coordinator, calls } = coordinatorOf(['a', 'b', 'c']);
  coordinator.snapshot(1);
  coordinator.notifyCheckpointComplete(1);
  await request(coordinator, 0);
  coordinator.snapshot(2);
  await request(coordinator, 0);
  coordinator.readersReset([0], 1);
  await settle();
  assert.deepEqual(calls.slice(-2), ['back a of 0', 'back b of 0']);
});

test('without any checkpoint all splits come back', async () => {
  const { coordinator, splits } = coordinatorOf(['a', 'b']);
  await request(coordinator, 0);
  await request(coordinator, 1);
  coordinator.readersReset([0, 1], 0);
  await settle();
  assert.deepEqual(splits, ['a', 'b']);
});

test('an enumerator restored from a checkpoint gives back what was assigned since', async () => {
  const test = coordinatorOf([], 7, ['x', 'y']);
  await request(test.coordinator, 0);
  test.coordinator.readersReset([0], 7);
  await settle();
  assert.deepEqual(test.splits, ['y', 'x']);
});

test('what a reader asked for before its reset is not answered to its successor', async () => {
  const test = coordinatorOf(['a']);
  await request(test.coordinator, 0);
  const gate = Promise.withResolvers<void>();
  test.gate = gate.promise;
  await request(test.coordinator, 1);
  test.coordinator.handle(0, { type: 'splitRequest' });
  test.coordinator.readersReset([0], 0);
  gate.resolve();
  await settle();
  assert.deepEqual(test.calls, ['request 0', 'request 1', 'back a of 0']);
  assert.deepEqual(test.sent, ['0 a', '1 noMoreSplits']);
  await request(test.coordinator, 0);
  assert.deepEqual(test.sent.slice(-1), ['0 a']);
});

test('an answer that comes when its reader was reset does not reach the successor', async () => {
  const test = coordinatorOf(['a', 'b']);
  await request(test.coordinator, 0);
  const gate = Promise.withResolvers<void>();
  test.gate = gate.promise;
  await request(test.coordinator, 0);
  test.coordinator.readersReset([0], 0);
  // The next one asks before the answer is there; what it gives up comes back first.
  test.coordinator.handle(0, { type: 'splitRequest' });
  gate.resolve();
  await settle();
  const calls = ['request 0', 'request 0', 'back a of 0', 'back b of 0', 'request 0'];
  assert.deepEqual(test.calls, calls);
  assert.deepEqual(test.sent, ['0 a', '0 a']);
  assert.deepEqual(test.splits, ['b']);
});

test('that there are no more splits is not said to the successor of who asked', async () => {
  const test = coordinatorOf(['a']);
  await request(test.coordinator, 0);
  const gate = Promise.withResolvers<void>();
  test.gate = gate.promise;
  await request(test.coordinator, 0);
  test.coordinator.readersReset([0], 0);
  gate.resolve();
  await settle();
  assert.deepEqual(test.sent, ['0 a']);
  await request(test.coordinator, 0);
  assert.deepEqual(test.sent, ['0 a', '0 a']);
});

test('a failing enumerator is reported, and a closed one says nothing any more', async () => {
  const { coordinator, failures, sent, calls, context } = coordinatorOf(['a']);
  coordinator.handle(0, { type: 'custom', event: 1 });
  const { coordinator: failing, ...rest } = coordinatorOf([]);
  rest.gate = null;
  context().fail(new Error('no route'));
  assert.equal(failures.length, 1);
  await coordinator.close();
  await coordinator.close();
  context().assignSplits(0, ['z']);
  context().fail(new Error('late'));
  await request(coordinator, 0);
  assert.deepEqual([failures.length, sent, calls], [1, [], ['close']]);
  await failing.close();
});

test('a rejection of the enumerator fails the job', async () => {
  const test = coordinatorOf(['a']);
  test.gate = Promise.reject(new Error('cannot list'));
  test.coordinator.start();
  await settle();
  assert.match(String(test.failures[0]), /cannot list/);
});
