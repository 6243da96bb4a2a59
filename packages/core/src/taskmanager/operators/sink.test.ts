import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PreparedCommit, Sink, SinkWriter } from '../../api/sink.ts';
import { StorageUnavailableError, JobSubmissionError } from '../../base/errors.ts';
import { operatorFixture, settle } from './operator-fixture.ts';
import type { FixtureOptions, OperatorFixture } from './operator-fixture.ts';
import { COMMITTABLES_STATE, SinkOperator } from './sink.ts';

/** A sink whose writer hands over what was written as one committable a checkpoint. */
class TestSink implements Sink<string, never, string> {
  readonly name = 'Test';
  readonly write = 'two-phase-commit';
  readonly calls: string[] = [];
  /** What the next commits answer, first to last; beyond: success. */
  readonly answers: (Error | Promise<void>)[] = [];
  isWritable = true;
  writable: PromiseWithResolvers<void> = Promise.withResolvers();
  durable: Promise<void> = Promise.resolve();
  #written: string[] = [];

  createWriter(): SinkWriter<string, never, string> {
    const isWritable = (): boolean => this.isWritable;
    return {
      write: (value) => void this.#written.push(value),
      get isWritable() {
        return isWritable();
      },
      whenWritable: () => this.writable.promise,
      prepareCommit: ({ checkpointId, endOfInput }): PreparedCommit<never, string> => {
        this.calls.push(`prepare ${checkpointId}${endOfInput ? ' end' : ''}`);
        const committables = this.#written.length === 0 ? [] : [this.#written.join('+')];
        this.#written = [];
        return { committables, writerStates: [], durable: this.durable };
      },
      onHousekeeping: () => void this.calls.push('housekeeping'),
      close: async () => void this.calls.push('close writer'),
    };
  }

  createCommitter(): ReturnType<NonNullable<Sink<string, never, string>['createCommitter']>> {
    return {
      commit: async (committables) => {
        this.calls.push(`commit ${committables.join(',')}`);
        const answer = this.answers.shift();
        if (answer instanceof Error) throw answer;
        await answer;
      },
      probe: () => Promise.resolve('pending'),
      recover: () => Promise.resolve(),
      close: async () => void this.calls.push('close committer'),
    };
  }
}

async function opened(
  options: FixtureOptions = {},
): Promise<{ sink: TestSink; operator: SinkOperator; fixture: OperatorFixture }> {
  const sink = new TestSink();
  const fixture = operatorFixture(options);
  const operator = new SinkOperator(fixture.context, sink);
  await operator.open();
  return { sink, operator, fixture };
}

function write(operator: SinkOperator, ...values: string[]): void {
  for (const value of values) operator.processElement(value, Number.NaN);
}

function committables({ context }: OperatorFixture): readonly unknown[] {
  const items: unknown[] = [];
  context.states.snapshot({
    append(bytes) {
      items.push(bytes);
      return { offset: 0, sizeBytes: 0, checksum: 0, count: 1 };
    },
  });
  return items;
}

test('a complete checkpoint commits what it and older ones prepared, in order', async () => {
  const { sink, operator } = await opened();
  write(operator, 'a', 'b');
  await operator.prepareSnapshot(1, false);
  write(operator, 'c');
  await operator.prepareSnapshot(2, false);
  write(operator, 'd');
  await operator.prepareSnapshot(3, false);
  await operator.notifyCheckpointComplete(2);
  assert.deepEqual(sink.calls, ['prepare 1', 'prepare 2', 'prepare 3', 'commit a+b', 'commit c']);
});

test('what an aborted checkpoint prepared is in the next snapshot and goes with it', async () => {
  const { sink, operator, fixture } = await opened();
  write(operator, 'a');
  await operator.prepareSnapshot(1, false);
  assert.equal(committables(fixture).length, 1);
  write(operator, 'b');
  await operator.prepareSnapshot(2, false);
  assert.equal(committables(fixture).length, 2, 'both, since neither is committed');
  await operator.notifyCheckpointComplete(2);
  assert.deepEqual(sink.calls.slice(2), ['commit a', 'commit b']);
  await operator.prepareSnapshot(3, false);
  assert.equal(committables(fixture).length, 0);
});

test('a checkpoint that completes twice, or late, commits nothing again [R023]', async () => {
  const { sink, operator } = await opened();
  write(operator, 'a');
  await operator.prepareSnapshot(1, false);
  await operator.notifyCheckpointComplete(1);
  await operator.notifyCheckpointComplete(1);
  write(operator, 'b');
  await operator.prepareSnapshot(2, false);
  await operator.notifyCheckpointComplete(1);
  assert.deepEqual(sink.calls, ['prepare 1', 'commit a', 'prepare 2']);
});

test('commits never overlap', async () => {
  const { sink, operator } = await opened();
  const first = Promise.withResolvers<void>();
  sink.answers.push(first.promise);
  write(operator, 'a');
  await operator.prepareSnapshot(1, false);
  const one = operator.notifyCheckpointComplete(1);
  write(operator, 'b');
  await operator.prepareSnapshot(2, false);
  const two = operator.notifyCheckpointComplete(2);
  await settle();
  assert.equal(sink.calls.includes('commit b'), false);
  first.resolve();
  await Promise.all([one, two]);
  assert.deepEqual(sink.calls.slice(-1), ['commit b']);
});

test('a commit that fails for a while is tried again in place, ten times [I-95]', async () => {
  const { sink, operator, fixture } = await opened();
  const down = new StorageUnavailableError('down');
  sink.answers.push(...Array.from({ length: 10 }, () => down));
  write(operator, 'a');
  await operator.prepareSnapshot(1, false);
  const committed = operator.notifyCheckpointComplete(1);
  for (let i = 0; i < 10; i++) {
    await settle();
    fixture.clock.advance(200);
  }
  await committed;
  assert.equal(sink.calls.filter((call) => call === 'commit a').length, 11);
});

test('beyond that the task fails, naming the sink; the committable stays [I-95]', async () => {
  const { sink, operator, fixture } = await opened({ committerRetries: 1 });
  sink.answers.push(new StorageUnavailableError('down'), new StorageUnavailableError('down'));
  write(operator, 'a');
  await operator.prepareSnapshot(1, false);
  const committed = assert.rejects(operator.notifyCheckpointComplete(1), {
    code: 'SINK_UNAVAILABLE',
    kind: 'transient',
    message: /sink "tested" .* could not commit, after 2 attempts: down/,
  });
  await settle();
  fixture.clock.advance(200);
  await committed;
  await operator.prepareSnapshot(2, false);
  assert.equal(committables(fixture).length, 1);
});

test('a commit that was tried for long by its committer is not tried again', async () => {
  const { sink, operator, fixture } = await opened({ committerRetries: 10 });
  operator.processElement('a', 1);
  await operator.prepareSnapshot(1, false);
  const answer = Promise.withResolvers<void>();
  sink.answers.push(answer.promise);
  const failed = assert.rejects(async () => operator.notifyCheckpointComplete(1), {
    message: /could not commit, at the first attempt: down/,
  });
  await settle();
  fixture.clock.advance(60_000);
  answer.reject(new StorageUnavailableError('down'));
  await failed;
});

test('a commit that no retry can cure keeps its kind and is not tried again [R029]', async () => {
  const { sink, operator } = await opened();
  sink.answers.push(new JobSubmissionError('no such table', { code: 'ARGUMENT_INVALID' }));
  write(operator, 'a');
  await operator.prepareSnapshot(1, false);
  await assert.rejects(operator.notifyCheckpointComplete(1), {
    kind: 'user',
    message: /at the first attempt: no such table; what it prepared is in the checkpoint/,
  });
  assert.equal(sink.calls.filter((call) => call.startsWith('commit')).length, 1);
});

test('closed in the middle of a commit, it waits for the outcome and retries no more', async () => {
  const { sink, operator, fixture } = await opened();
  const outcome = Promise.withResolvers<void>();
  sink.answers.push(outcome.promise);
  write(operator, 'a');
  await operator.prepareSnapshot(1, false);
  const committed = operator.notifyCheckpointComplete(1).catch(() => undefined);
  await settle();
  const closed = operator.close();
  await settle();
  assert.equal(sink.calls.at(-1), 'close writer');
  outcome.reject(new StorageUnavailableError('down'));
  await Promise.all([closed, committed]);
  assert.deepEqual(sink.calls.slice(-2), ['close writer', 'close committer']);
  assert.equal(fixture.clock.pendingCount(), 0);
});

test('without checkpoints all is committed at the end, what older ones prepared too', async () => {
  const { sink, operator } = await opened();
  write(operator, 'a');
  await operator.prepareSnapshot(1, false);
  write(operator, 'b');
  await operator.commitAtEnd();
  assert.deepEqual(sink.calls, ['prepare 1', 'prepare 0 end', 'commit a', 'commit b']);
});

test('the snapshot is acknowledged only when what was written is durable', async () => {
  const { sink, operator } = await opened();
  sink.durable = Promise.reject(new StorageUnavailableError('disk full'));
  write(operator, 'a');
  await assert.rejects(operator.prepareSnapshot(1, false), /disk full/);
});

test('while the writer takes no more, the task waits and is woken once', async () => {
  const { sink, operator, fixture } = await opened();
  sink.isWritable = false;
  assert.equal(operator.isWritable, false);
  assert.equal(operator.isWritable, false);
  sink.isWritable = true;
  sink.writable.resolve();
  await settle();
  assert.equal(fixture.wakeUps, 1);
  assert.equal(operator.isWritable, true);
});

test('a writer that never becomes writable again fails the task', async () => {
  const { sink, operator, fixture } = await opened();
  sink.isWritable = false;
  assert.equal(operator.isWritable, false);
  sink.writable.reject(new StorageUnavailableError('disk full'));
  await settle();
  assert.match(String(fixture.failures[0]), /disk full/);
});

test('what a sink says is told with its name in the job, and keeps its kind', async () => {
  const { sink, operator, fixture } = await opened();
  const name = `sink ${operator.describe()}: `;
  const away = new StorageUnavailableError('no room', {
    code: 'SINK_UNAVAILABLE',
    details: { a: 1 },
  });
  sink.isWritable = false;
  assert.equal(operator.isWritable, false);
  sink.writable.reject(away);
  await settle();
  const { message, kind, code, details } = fixture.failures[0] as StorageUnavailableError;
  assert.deepEqual(
    { message, kind, code, details },
    { message: `${name}no room`, kind: 'transient', code: 'SINK_UNAVAILABLE', details: { a: 1 } },
  );
  sink.durable = Promise.reject(away);
  await assert.rejects(operator.prepareSnapshot(1, false), { message: `${name}no room` });
});

test('what the restored snapshot promised is not committed by the writer again', async () => {
  const fixture = operatorFixture();
  const sink = new TestSink();
  const operator = new SinkOperator(fixture.context, sink);
  fixture.context.states.restore([{ name: COMMITTABLES_STATE, mode: 'list', items: ['old'] }]);
  await operator.open();
  await operator.prepareSnapshot(5, false);
  assert.equal(committables(fixture).length, 0, 'the JobManager has committed it before');
  await operator.notifyCheckpointComplete(5);
  assert.deepEqual(sink.calls, ['prepare 5']);
});

test('what is prepared at the end is not committed with an earlier checkpoint', async () => {
  const { sink, operator } = await opened();
  write(operator, 'a');
  await operator.prepareSnapshot(1, false);
  const committed = Promise.withResolvers<void>();
  sink.answers.push(committed.promise);
  const first = operator.notifyCheckpointComplete(1);
  await settle();
  write(operator, 'b');
  const durable = Promise.withResolvers<void>();
  sink.durable = durable.promise;
  const end = operator.commitAtEnd();
  committed.resolve();
  await first;
  assert.deepEqual(
    sink.calls.filter((call) => call.startsWith('commit')),
    ['commit a'],
  );
  durable.resolve();
  await end;
  assert.deepEqual(
    sink.calls.filter((call) => call.startsWith('commit')),
    ['commit a', 'commit b'],
  );
});

test('what an aborted checkpoint prepared is committed at the end once it is durable', async () => {
  const { sink, operator } = await opened();
  const durable = Promise.withResolvers<void>();
  sink.durable = durable.promise;
  write(operator, 'a');
  void operator.prepareSnapshot(1, false);
  sink.durable = Promise.resolve();
  const end = operator.commitAtEnd();
  await settle();
  assert.deepEqual(
    sink.calls.filter((call) => call.startsWith('commit')),
    [],
  );
  durable.resolve();
  await end;
  assert.deepEqual(
    sink.calls.filter((call) => call.startsWith('commit')),
    ['commit a'],
  );
});

test('a checkpoint is durable only when what earlier ones prepared is', async () => {
  const { sink, operator } = await opened();
  const durable = Promise.withResolvers<void>();
  sink.durable = durable.promise;
  write(operator, 'a');
  void operator.prepareSnapshot(1, false);
  sink.durable = Promise.resolve();
  write(operator, 'b');
  let isDurable = false;
  const second = operator.prepareSnapshot(2, false).then(() => {
    isDurable = true;
  });
  await settle();
  assert.equal(isDurable, false);
  durable.resolve();
  await second;
});
