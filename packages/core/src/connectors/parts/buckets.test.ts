import assert from 'node:assert/strict';
import test from 'node:test';
import { basePath, dateTimeBuckets } from './buckets.ts';

const at = (
  wallTime: number,
  timestamp = Number.NaN,
): Parameters<ReturnType<typeof basePath>>[1] => ({
  timestamp,
  watermark: -Infinity,
  wallTime,
});

test('date buckets are named by the pattern in UTC, evaluated for every record', () => {
  const assign = dateTimeBuckets();
  assert.equal(assign(null, at(Date.UTC(2024, 0, 5, 0, 59, 59, 999))), '2024-01-05--00');
  assert.equal(assign(null, at(Date.UTC(2024, 0, 5, 1))), '2024-01-05--01');
  assert.equal(assign(null, at(Date.UTC(2024, 0, 5, 0))), '2024-01-05--00', 'clocks may go back');
  const parts = dateTimeBuckets('year=yyyy/month=MM/HHmmss');
  assert.equal(parts(null, at(Date.UTC(2024, 11, 31, 23, 58, 7))), 'year=2024/month=12/235807');
});

test('date buckets know time zones and event time', () => {
  const assign = dateTimeBuckets('yyyy-MM-dd--HH', { timeZone: 'Europe/Berlin', time: 'event' });
  assert.equal(assign(null, at(0, Date.UTC(2024, 6, 1, 22, 30))), '2024-07-02--00');
  assert.throws(() => assign(null, at(0)), /a record has no event time/);
});

test('date buckets refuse patterns and zones that make no sense', () => {
  assert.throws(() => dateTimeBuckets('daily'), /none of yyyy/);
  assert.throws(() => dateTimeBuckets('dd', { timeZone: 'Moon' }), /"Moon" is no time zone/);
});

test('the base path puts all records into the folder itself', () => {
  assert.equal(basePath()('x', at(0)), '');
});
