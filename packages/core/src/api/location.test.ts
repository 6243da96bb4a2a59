import assert from 'node:assert/strict';
import { test } from 'node:test';
import { locationOfCaller } from './location.ts';
import type { CodeLocation, MapLocation } from './location.ts';

class Recorder {
  /** Captures through a further call, as the package does. */
  record(map?: MapLocation): string | null {
    return this.#capture(map);
  }
  #capture(map?: MapLocation): string | null {
    return locationOfCaller(this, 'record', map);
  }
}

/** The line that calls it. */
function here(): number {
  return Number(/:(\d+):\d+\)?$/.exec(new Error('here').stack!.split('\n')[2]!)?.[1]);
}

test('the location is that of the call, whatever the package does inside it', () => {
  const recorder = new Recorder();
  const [location, line] = [recorder.record(), here()];
  assert.equal(location, `location.test.ts:${line}`);
});

test('a place in a bundle can be mapped to its source, or be given up', () => {
  const recorder = new Recorder();
  let seen: CodeLocation | null = null;
  const map = (location: CodeLocation): CodeLocation => {
    seen = location;
    return { file: '/jobs/my%20orders.ts', line: 14, column: 3 };
  };
  assert.equal(recorder.record(map), 'my orders.ts:14');
  assert.match(seen!.file, /location\.test\.ts$/);
  assert.equal(
    recorder.record(() => null),
    null,
  );
});

test('without stack traces there is no location', () => {
  const limit = Error.stackTraceLimit;
  try {
    Error.stackTraceLimit = 0;
    assert.equal(new Recorder().record(), null);
  } finally {
    Error.stackTraceLimit = limit;
  }
});
