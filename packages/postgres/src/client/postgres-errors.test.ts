import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asPostgresError, asSinkError, classOf, PostgresError } from './postgres-errors.ts';

test('what a later try may mend, what only a person can, and what is the fault of a row', () => {
  for (const state of ['08006', '40001', '40P01', '53300', '55P03', '57P01', '57P03', '25006'])
    assert.equal(classOf(state), 'transient', state);
  for (const state of ['42P01', '42703', '42501', '28P01', '3D000', '0A000', '22023', '42804'])
    assert.equal(classOf(state), 'user', state);
  for (const state of ['23505', '23503', '23514', '23502', '22P02', '22001', '22003', 'P0001'])
    assert.equal(classOf(state), 'data', state);
});

test("a server's refusal keeps its detail and hint; a broken connection is transient", () => {
  const told = Object.assign(new Error('duplicate key'), {
    code: '23505',
    severity: 'ERROR',
    detail: 'Key (id)=(5) already exists.',
    hint: 'Look.',
  });
  const refused = asPostgresError('writing to t', 'db:5432/shop', told);
  assert.ok(refused instanceof PostgresError);
  assert.equal(
    refused.message,
    'PostgreSQL at db:5432/shop refuses writing to t: duplicate key ' +
      '(Key (id)=(5) already exists.); Look.',
  );
  // Errors of sockets have a code too.
  const broken = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  const lost = asPostgresError('writing to t', 'db:5432/shop', broken);
  assert.ok(lost instanceof PostgresError);
  assert.equal(lost.server, null);
  assert.equal((asSinkError(lost) as { kind?: unknown }).kind, 'transient');
  assert.equal(asSinkError(told), told);
});
