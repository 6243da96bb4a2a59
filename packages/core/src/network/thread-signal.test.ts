import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ThreadSignal, createSignalBuffer } from './thread-signal.ts';

test('a sleeper is woken by the other side', { timeout: 5000 }, async () => {
  const buffer = createSignalBuffer();
  const [sleeper, waker] = [new ThreadSignal(buffer), new ThreadSignal(buffer)];
  // A pending sleep alone does not keep a thread alive.
  const alive = setInterval(() => undefined, 1000);
  const sleeping = sleeper.sleep(() => false);
  waker.wake();
  await sleeping;
  clearInterval(alive);
});

test('who finds work after its announcement does not sleep', async () => {
  const signal = new ThreadSignal(createSignalBuffer());
  await signal.sleep(() => true);
});

test('a wake between the announcement and the sleep is not lost', { timeout: 5000 }, async () => {
  const buffer = createSignalBuffer();
  const [sleeper, waker] = [new ThreadSignal(buffer), new ThreadSignal(buffer)];
  await sleeper.sleep(() => {
    waker.wake();
    return false;
  });
});

test('a wake for a thread that is awake leaves no trace', async () => {
  const buffer = createSignalBuffer();
  const signal = new ThreadSignal(buffer);
  signal.wake();
  assert.equal(new Int32Array(buffer)[0], 0);
});
