import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SinkIdentity } from '@weir/core';
import {
  parseTransactionName,
  PREFIX_LENGTH_MAX,
  transactionName,
  transactionPrefix,
} from './transaction-name.ts';

const SINK = { jobId: 'a'.repeat(32), operatorId: 'b'.repeat(32) } as unknown as SinkIdentity;
const NAME = { subtask: 3, attempt: { epoch: 12, counter: 7 }, number: 40, run: '0badcafe' };

test('a name says its subtask, attempt and number; others are not taken for it', () => {
  const prefix = transactionPrefix('weir', SINK);
  const name = transactionName(prefix, NAME);
  assert.deepEqual(parseTransactionName(prefix, name), NAME);
  assert.equal(parseTransactionName(transactionPrefix('other', SINK), name), null);
  assert.equal(parseTransactionName(prefix, `${prefix}-3-12-40`), null);
  const sibling = { ...SINK, operatorId: `${'b'.repeat(31)}c` } as unknown as SinkIdentity;
  assert.equal(parseTransactionName(transactionPrefix('weir', sibling), name), null);
});

test("the longest name stays below PostgreSQL's limit of 200 bytes", () => {
  const prefix = transactionPrefix('p'.repeat(PREFIX_LENGTH_MAX), SINK);
  const most = { epoch: 2 ** 31, counter: 2 ** 31 };
  const name = transactionName(prefix, {
    ...NAME,
    subtask: 32_767,
    attempt: most,
    number: 2 ** 40,
  });
  assert.ok(name.length < 200, `${name.length}`);
});
