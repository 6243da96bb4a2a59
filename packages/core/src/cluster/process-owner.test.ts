import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { livingOwner, thisProcess } from './process-owner.ts';

const self = thisProcess(seededRandom(1));
/** On another machine. */
const far = { ...self, host: 'elsewhere', token: 'another-boot/pid:[1] 77' };

test('this process is alive, whatever the wall clock said when it started [R119]', async () => {
  for (const startedAt of [self.startedAt, self.startedAt + 3_600_000, 0])
    assert.match((await livingOwner({ ...self, startedAt }, '/none')) ?? '', /this machine/);
});

test('a number that another process has now is not the owner', async () => {
  if (!self.token.includes(' ')) return;
  const token = self.token.replace(/\d+$/, (ticks) => String(Number(ticks) - 1));
  // Where the kernel does not tell when a process started, the number has to do.
  const isKnown = self.token.includes(' ');
  assert.equal((await livingOwner({ ...self, token }, '/none')) === null, isKnown);
  assert.equal(await livingOwner({ ...self, pid: 2 ** 22 + 1 }, '/none'), null);
  assert.equal(await livingOwner(null, '/none'), null);
});

test('a far owner lives while his lease is renewed, also when clocks differ [R119]', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-owner-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const lease = join(folder, 'lease');
  writeFileSync(lease, '');
  const clock = new ManualClock();
  const renew = (byMs: number): void => {
    const at = (clock.wallTime() + byMs) / 1000;
    utimesSync(lease, at, at);
  };
  /** What is answered when the lease is renewed while it is watched, or not. */
  const watched = async (renewal: (() => void) | null): Promise<string | null> => {
    const answer = livingOwner(far, folder, clock);
    while (clock.pendingCount() === 0) await new Promise(setImmediate);
    renewal?.();
    clock.advance(2500);
    return answer;
  };
  renew(-5000);
  assert.match((await livingOwner(far, folder, clock)) ?? '', /on elsewhere/);
  // The clock jumps, here or there: the lease still moves.
  clock.jumpWallTime(3_600_000);
  assert.match((await watched(() => renew(-3_600_000))) ?? '', /on elsewhere/);
  clock.jumpWallTime(-7_200_000);
  assert.match((await watched(() => renew(3_600_000))) ?? '', /on elsewhere/);
  assert.equal(await watched(null), null);
  rmSync(lease);
  assert.equal(await livingOwner(far, folder, clock), null);
});
