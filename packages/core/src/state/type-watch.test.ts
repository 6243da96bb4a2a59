import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TypeWatch } from './type-watch.ts';

function watchOf(...restored: readonly unknown[]): TypeWatch {
  const watch = new TypeWatch({ operator: 'totals', name: 'total', version: 1 });
  for (const value of restored) watch.learn(value);
  return watch;
}

test('a value of a kind that was not restored is refused, naming what to do', () => {
  assert.throws(() => watchOf(1, 2).checked({ n: 1 }), {
    code: 'STATE_INCOMPATIBLE',
    message:
      'state "total" of totals: its values are number in the snapshot, and are now written as ' +
      'object, without a new version of its type: give the state version: 2 and migrate: { 1: ' +
      '(stored) => … }; if its type holds both, give it a schema that says so',
  });
  assert.throws(
    () => watchOf({ n: 1 }).checked({ n: '1' }),
    /field "n" of its values is number in the snapshot, and is now written as string/,
  );
  assert.throws(() => watchOf({ a: { b: 1 } }).checked({ a: { b: [] } }), /field "a\.b"/);
});

test('kinds that were restored, fields that come and go, and nothing at all may be written', () => {
  const watch = watchOf(1, 'none', { n: 1 });
  for (const value of [2, 'x', { n: 2 }, {}, { label: '' }, null, undefined])
    assert.equal(watch.checked(value), watch);
});

test('the kind of the default may be written', () => {
  const watch = watchOf(1);
  watch.allow('none');
  assert.equal(watch.checked('none'), watch);
});

test('it is taken away after a while, and at once when nothing was restored', () => {
  assert.equal(watchOf().checked(1), null);
  let watch: TypeWatch | null = watchOf(1);
  let count = 0;
  while (watch !== null) {
    watch = watch.checked(1);
    count++;
  }
  assert.equal(count, 1001);
});
