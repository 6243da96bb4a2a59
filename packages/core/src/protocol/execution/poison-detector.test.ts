import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  fromErrorInfo,
  StorageUnavailableError,
  toErrorInfo,
  UserFunctionError,
} from '../../base/errors.ts';
import type { ErrorInfo } from '../../base/errors.ts';
import { PoisonDetector } from './poison-detector.ts';

const functionError = (message: string, position?: unknown): ErrorInfo =>
  toErrorInfo(
    new UserFunctionError(message, position === undefined ? {} : { details: { position } }),
  );

/** Failures in rounds 1, 2, …, a second apart; the answers. */
function rounds(detector: PoisonDetector, errors: readonly ErrorInfo[]): readonly unknown[] {
  return errors.map((error, i) => detector.failed(error, i + 1, (i + 1) * 1_000));
}

test('the third failure at one position is poison, whatever its message [R107]', () => {
  const errors = ['a', 'b', 'c'].map((text) => functionError(text, 'orders.csv at byte 17'));
  assert.deepEqual(rounds(new PoisonDetector(), errors), [
    null,
    null,
    { position: 'orders.csv at byte 17', failures: 3 },
  ]);
});

test('the third failure for one cause is poison', () => {
  const errors = [1, 2, 3].map(() => functionError('x is not a function'));
  assert.deepEqual(rounds(new PoisonDetector(), errors).at(-1), { position: null, failures: 3 });
});

test('the same byte of another file is another record', () => {
  const malformed = (file: string): ErrorInfo =>
    toErrorInfo(new UserFunctionError('malformed', { details: { file, position: 4 } }));
  const errors = ['a', 'b', 'a', 'b', 'a'].map(malformed);
  const answers = rounds(new PoisonDetector(), errors);
  assert.deepEqual(answers.slice(0, 4), [null, null, null, null]);
  assert.deepEqual(answers[4], { position: 'byte 4 of a', failures: 3 });
});

test('a place that fails again and again is a cause, and forgotten like one', () => {
  const full = (id: number): ErrorInfo =>
    toErrorInfo(
      new StorageUnavailableError(`checkpoint ${id} failed`, {
        details: { storagePlace: '/c (ENOSPC)' },
      }),
    );
  const errors = [1, 2, 3].map(full);
  assert.deepEqual(rounds(new PoisonDetector(), errors).at(-1), { position: null, failures: 3 });
  const detector = new PoisonDetector();
  const daily = errors.map((error, day) => detector.failed(error, day + 1, day * 86_400_000));
  assert.deepEqual(daily, [null, null, null]);
});

test('the cause is the innermost error of ours, whatever wraps it', () => {
  const cause = functionError('cannot store a function (at a.b)');
  const errors = [1, 2, 3].map((id) =>
    toErrorInfo(new UserFunctionError(`checkpoint ${id} failed`, { cause: fromErrorInfo(cause) })),
  );
  assert.deepEqual(rounds(new PoisonDetector(), errors).at(-1), { position: null, failures: 3 });
});

test('how often it may fail can be set', () => {
  const errors = [1, 2].map(() => functionError('x is not a function'));
  assert.deepEqual(rounds(new PoisonDetector(2), errors), [null, { position: null, failures: 2 }]);
  assert.deepEqual(rounds(new PoisonDetector(3), errors), [null, null]);
});

test('a position is found in the causes of an error', () => {
  const cause = new UserFunctionError('bad', { details: { position: { file: 'a', byte: 1 } } });
  const errors = ['x', 'y', 'z'].map((text) => toErrorInfo(new UserFunctionError(text, { cause })));
  assert.deepEqual(rounds(new PoisonDetector(), errors).at(-1), {
    position: '{"file":"a","byte":1}',
    failures: 3,
  });
});

test('two bad records that take turns are both found', () => {
  const a = functionError('bad', 'at 1');
  const b = functionError('bad', 'at 2');
  const answers = rounds(new PoisonDetector(), [a, b, a, b, a]);
  assert.deepEqual(answers.slice(0, 4), [null, null, null, null]);
  assert.deepEqual(answers[4], { position: 'at 1', failures: 3 });
});

test('several subtasks failing in one round count once', () => {
  const detector = new PoisonDetector();
  const error = functionError('no such variable');
  for (const round of [1, 1, 1, 1, 2, 2]) assert.equal(detector.failed(error, round, 0), null);
  assert.notEqual(detector.failed(error, 3, 0), null);
});

test('failures of network and storage are never poison', () => {
  const error = toErrorInfo(new StorageUnavailableError('disk full'));
  assert.deepEqual(rounds(new PoisonDetector(), [error, error, error, error]), Array(4).fill(null));
});

test('a cause without position is forgotten after a while, a position is not', () => {
  const hour = 3_600_000;
  const detector = new PoisonDetector();
  for (let round = 1; round <= 3; round++) {
    assert.equal(detector.failed(functionError('time-out'), round, round * hour), null);
    const atPosition = detector.failed(functionError('time-out', 'at 9'), round, round * hour);
    assert.equal(atPosition !== null, round === 3);
  }
});
