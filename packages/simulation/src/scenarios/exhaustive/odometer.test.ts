import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Odometer } from './odometer.ts';

test('every combination comes once, also where later choices depend on earlier ones', () => {
  const odometer = new Odometer();
  const seen: string[] = [];
  while (odometer.next()) {
    const first = odometer.choose(3);
    const rest = Array.from({ length: first }, () => odometer.choose(2));
    seen.push([first, ...rest].join(''));
  }
  assert.deepEqual(seen, ['0', '10', '11', '200', '201', '210', '211']);
});

test('a program that chooses otherwise the second time is no world to search', () => {
  const odometer = new Odometer();
  odometer.next();
  odometer.choose(2);
  odometer.next();
  assert.throws(() => odometer.choose(3), /choice 0 had 2 ways and has 3 now/);
});
