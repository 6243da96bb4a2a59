import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Clock } from '../base/clock.ts';
import { isWeirError } from '../base/errors.ts';
import { MemoryFileSystem } from '../storage/memory-file-system.ts';
import { csv } from './formats/csv.ts';
import { httpSink } from './http-sink.ts';
import type { HttpSinkOptions } from './http-sink.ts';
import { SinkDriver } from './parts/test-support.ts';
import { testEnvironment } from './test-support.ts';
import type { TestEnvironment } from './test-support.ts';
import type { LoggedResults } from './write-ahead-log/result-log.ts';

interface Taken {
  readonly key: string;
  readonly body: string;
}

/** A receiver that answers as told: a status, or no answer at all after it has taken the body. */
class Receiver {
  readonly taken: Taken[] = [];
  answers: (number | 'lost' | 'silent')[] = [];
  retryAfter: string | null = null;
  url = '';
  /** Called instead of an answer. */
  onSilent: () => void = () => undefined;
  readonly #server: Server = createServer((request, response) => this.#take(request, response));

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/in?x=1`;
    return this.url;
  }

  get values(): number[] {
    return this.taken.flatMap(({ body }) => body.trimEnd().split('\n').map(Number));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const answer = this.answers.shift() ?? 200;
      const isTaken = typeof answer === 'string' || answer < 300;
      if (isTaken) this.taken.push({ key: String(request.headers['idempotency-key']), body });
      if (answer === 'silent') return this.onSilent();
      if (answer === 'lost') return void response.destroy();
      const headers = this.retryAfter === null ? {} : { 'retry-after': this.retryAfter };
      response.writeHead(answer, headers).end(answer < 300 ? '' : 'not so');
    });
  }
}

/** Waits for nothing, and notes how long it would have waited; for answers until `timeOut`. */
class HastyClock implements Clock {
  readonly waits: number[] = [];
  readonly #timeouts = new Set<() => void>();
  #now = 0;

  /** Every request that waits for an answer has waited for too long. */
  timeOut(): void {
    for (const run of this.#timeouts) run();
  }

  now(): number {
    return this.#now;
  }

  wallTime(): number {
    return this.#now;
  }

  schedule(delayMs: number, label: string, fn: () => void): { cancel(): void } {
    let isCancelled = false;
    const run = (): void => {
      if (isCancelled) return;
      this.#now += delayMs;
      fn();
    };
    if (label === 'http-timeout') {
      this.#timeouts.add(run);
      return { cancel: () => void this.#timeouts.delete(run) };
    }
    this.waits.push(delayMs);
    setImmediate(run);
    return { cancel: () => (isCancelled = true) };
  }

  defer(label: string, fn: () => void): { cancel(): void } {
    return this.schedule(0, label, fn);
  }
}

type Driver = SinkDriver<number, never, LoggedResults>;

interface World {
  readonly receiver: Receiver;
  readonly clock: HastyClock;
  readonly fileSystem: MemoryFileSystem;
  readonly logged: string[];
  /** Ends the tasks. */
  readonly ending: AbortController;
  readonly attempt: (options?: Partial<HttpSinkOptions<number>>) => Driver;
}

async function withReceiver(run: (world: World) => Promise<void>): Promise<void> {
  const receiver = new Receiver();
  const url = await receiver.listen();
  const clock = new HastyClock();
  receiver.onSilent = () => clock.timeOut();
  const fileSystem = new MemoryFileSystem();
  const logged: string[] = [];
  const ending = new AbortController();
  const drivers: Driver[] = [];
  const attempt = (options: Partial<HttpSinkOptions<number>> = {}): Driver => {
    const counter = drivers.length + 1;
    const base = testEnvironment(fileSystem, counter);
    const logger = { log: (level: string, text: string) => void logged.push(`${level} ${text}`) };
    const { signal } = ending;
    const environment = { ...base, clock, logger, signal } as unknown as TestEnvironment;
    const driver: Driver = new SinkDriver(
      httpSink<number>({ url, ...options }),
      environment,
      counter,
    );
    drivers.push(driver);
    return driver;
  };
  try {
    await run({ receiver, clock, fileSystem, logged, ending, attempt });
  } finally {
    for (const driver of drivers) await driver.close();
    await receiver.close();
  }
}

async function commitOf(driver: Driver, values: readonly number[]): Promise<void> {
  for (const value of values) driver.write(value);
  await driver.complete(await driver.checkpoint(1));
}

test('results are sent when their checkpoint is complete, each request with a key', async () => {
  await withReceiver(async ({ receiver, attempt }) => {
    const driver = attempt({ batchSize: 2 });
    await driver.start();
    for (const value of [1, 2, 3]) driver.write(value);
    const checkpoint = await driver.checkpoint(1);
    assert.equal(receiver.taken.length, 0);
    await driver.complete(checkpoint);
    assert.deepEqual(
      receiver.taken.map(({ body }) => body),
      ['1\n2\n', '3\n'],
    );
    const keys = receiver.taken.map(({ key }) => key);
    assert.match(keys[0] ?? '', /^abcdef012345-0-1-1-[0-9a-f]{16}-1-0$/);
    assert.equal(new Set(keys).size, 2);
  });
});

test('5xx, 429 and broken connections are tried again with growing delays', async () => {
  await withReceiver(async ({ receiver, clock, attempt }) => {
    const driver = attempt();
    await driver.start();
    receiver.answers = [503, 500, 429, 200];
    await commitOf(driver, [1]);
    assert.deepEqual(receiver.values, [1]);
    assert.deepEqual(clock.waits, [100, 200, 400]);
    receiver.answers = [503];
    receiver.retryAfter = '7';
    await commitOf(driver, [2]);
    assert.equal(clock.waits.at(-1), 7000, 'as long as the receiver asks for');
    receiver.answers = [429];
    receiver.retryAfter = '120';
    await commitOf(driver, [3]);
    assert.equal(clock.waits.at(-1), 120_000, 'also where that is longer than it is tried');
  });
});

for (const outcome of ['lost', 'silent'] as const)
  test(`an answer that is ${outcome}: sent again under the same key`, async () => {
    await withReceiver(async ({ receiver, attempt }) => {
      const driver = attempt({ timeoutMs: 1000 });
      await driver.start();
      receiver.answers = [outcome];
      await commitOf(driver, [1]);
      assert.equal(receiver.taken.length, 2);
      assert.deepEqual(receiver.taken[0], receiver.taken[1]);
    });
  });

test('a receiver that stays away fails the commit as transient, and nothing is lost', async () => {
  await withReceiver(async ({ receiver, attempt }) => {
    const driver = attempt({ retryForMs: 1000 });
    await driver.start();
    driver.write(1);
    const checkpoint = await driver.checkpoint(1);
    receiver.answers = [503, 503, 503, 503, 503];
    await assert.rejects(driver.committer.commit(checkpoint.committables), {
      kind: 'transient',
      message:
        /^httpSink has not got through for 700 ms: .*\d\/in takes nothing: it answers 503; a l/,
    });
    receiver.answers = [];
    await attempt().start(1, checkpoint);
    assert.deepEqual(receiver.values, [1]);
  });
});

test('a request on its way when the task ends is broken off, and not sent again', async () => {
  await withReceiver(async ({ receiver, ending, attempt }) => {
    const driver = attempt();
    await driver.start();
    receiver.answers = ['silent'];
    receiver.onSilent = () => ending.abort();
    await assert.rejects(commitOf(driver, [1]), {
      kind: 'transient',
      message: /\/in takes nothing: the sink is closed/,
    });
    assert.deepEqual(receiver.values, [1]);
  });
});

test('4xx ends the job with what the receiver says, not with what the address holds', async () => {
  await withReceiver(async ({ receiver, attempt }) => {
    const driver = attempt();
    await driver.start();
    receiver.answers = [422];
    await assert.rejects(commitOf(driver, [1, 2]), (error: Error) => {
      assert.match(error.message, /\/in rejects 2 result\(s\) with 422: "not so"; mend/);
      assert.doesNotMatch(error.message, /x=1/, 'a query may hold a token');
      assert.ok(isWeirError(error) && error.kind === 'user' && error.code === 'SINK_REFUSED');
      return true;
    });
  });
});

test('a receiver that will never speak as asked ends the job at once', async () => {
  await withReceiver(async ({ receiver, clock, attempt }) => {
    const driver = attempt({ url: receiver.url.replace('http:', 'https:') });
    await driver.start();
    await assert.rejects(commitOf(driver, [1]), {
      kind: 'user',
      code: 'SINK_REFUSED',
      message: /^httpSink: https:\S+ cannot be connected to: it speaks no TLS on this port/,
    });
    assert.deepEqual(clock.waits, []);
  });
});

test('4xx with a dead letter: kept once under the name of its key, the rest is sent', async () => {
  await withReceiver(async ({ receiver, fileSystem, logged, attempt }) => {
    const options = { batchSize: 1, onRejected: { deadLetter: '/rejected' } };
    const driver = attempt(options);
    await driver.start();
    for (const value of [1, 2, 3]) driver.write(value);
    const checkpoint = await driver.checkpoint(1);
    receiver.answers = [200, 400, 200];
    await driver.complete(checkpoint);
    assert.deepEqual(receiver.values, [1, 3]);
    receiver.answers = [200, 400, 200];
    await attempt(options).start(1, checkpoint);
    const names = await fileSystem.list('/rejected');
    assert.equal(names.length, 1, names.join());
    const text = Buffer.from(await fileSystem.readFile(`/rejected/${names[0]}`)).toString();
    assert.match(text, /^\{"key":".*-1-1","status":400,"reason":"not so","line":"2"\}\n$/);
    assert.match(
      logged[0] ?? '',
      /^warn httpSink: 1 result\(s\) were rejected with 400 and are in/,
    );
  });
});

for (const receiverDeduplicates of [false, true])
  test(`with confirmations a restart sends nothing again${
    receiverDeduplicates ? ' to one that takes each key once' : ''
  }; without, by the same keys`, async () => {
    await withReceiver(async ({ receiver, attempt }) => {
      const options = { receiverDeduplicates, confirmations: '/confirmed' };
      const driver = attempt(options);
      await driver.start();
      driver.write(1);
      const checkpoint = await driver.checkpoint(1);
      const [batch] = checkpoint.committables;
      assert.equal(await driver.committer.probe(batch!), 'pending');
      await driver.complete(checkpoint);
      assert.equal(await driver.committer.probe(batch!), 'committed', 'as weir tx list shows it');
      await attempt(options).start(2, checkpoint);
      assert.equal(receiver.taken.length, 1);
      await attempt({ receiverDeduplicates }).start(2, checkpoint);
      assert.equal(receiver.taken.length, 2);
      assert.equal(receiver.taken[0]?.key, receiver.taken[1]?.key);
    });
  });

test('what was kept is sent in the same requests, whatever batchSize is by then', async () => {
  await withReceiver(async ({ receiver, attempt }) => {
    const first = attempt({ batchSize: 2 });
    await first.start();
    for (const value of [1, 2, 3, 4, 5]) first.write(value);
    const checkpoint = await first.checkpoint(1);
    await first.complete(checkpoint);
    const sent = [...receiver.taken];
    assert.equal(sent.length, 3);
    await attempt({ batchSize: 3 }).start(1, checkpoint);
    assert.deepEqual(receiver.taken.slice(sent.length), sent);
  });
});

test('a record that has no text fails where it is written, not when it is sent', async () => {
  await withReceiver(async ({ attempt }) => {
    const driver = attempt();
    await driver.start();
    assert.throws(() => driver.write(undefined as unknown as number), /cannot be written as JSON/);
  });
});

test('options that are not allowed are refused, and the planner is told what holds', () => {
  assert.throws(() => httpSink({ url: 'ftp://a' }), /url: "ftp:\/\/a" is not allowed/);
  for (const url of ['htps://me:hidden@a/in', 'me:hidden@a/in', 'ftp://a?token=hidden'])
    assert.throws(
      () => httpSink({ url }),
      ({ message }: Error) => message.includes('***') && !message.includes('hidden'),
    );
  for (const headers of [{ 'a b': 'c' }, { authorization: 'Bearer hidden\n' }])
    assert.throws(
      () => httpSink({ url: 'http://a', headers }),
      ({ message }: Error) => /headers: .* is not allowed/.test(message) && !/hidden/.test(message),
    );
  assert.throws(() => httpSink({ url: 'http://a', batchSize: 0 }), /batchSize: 0 is not allowed/);
  const header = csv<{ a: string }>({ columns: ['a'] });
  assert.equal(header.hasHeader, true);
  assert.throws(() => httpSink({ url: 'http://a', format: header }), /with a header line/);
  assert.equal(httpSink({ url: 'http://a' }).confirmation, 'separate');
  assert.equal(httpSink({ url: 'http://a', receiverDeduplicates: true }).confirmation, 'atomic');
});
