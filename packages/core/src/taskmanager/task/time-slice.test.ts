import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BATCH_SIZE } from '../../base/records.ts';
import { TimeSlice } from './time-slice.ts';

/** Steps that hand over all they may, at a price in milliseconds each. */
function steps(slice: TimeSlice, count: number, msPerRecord: number): void {
  for (let step = 0; step < count; step++) {
    slice.begin(0);
    slice.end(slice.records, slice.records * msPerRecord);
  }
}

test('quick functions soon get whole batches', () => {
  const slice = new TimeSlice();
  steps(slice, 10, 0.0001);
  assert.equal(slice.records, BATCH_SIZE);
});

test('slow functions get as many records as take five milliseconds, at least one [R113]', () => {
  const slice = new TimeSlice();
  steps(slice, 1, 1.25);
  assert.equal(slice.records, 16, 'it did not take so much too long');
  steps(slice, 1, 2);
  assert.equal(slice.records, 2);
  steps(slice, 3, 500);
  assert.equal(slice.records, 1);
});

test('a pause that has nothing to do with the records is soon made up for', () => {
  const slice = new TimeSlice();
  steps(slice, 10, 0);
  slice.begin(0);
  slice.end(BATCH_SIZE, 100);
  assert.equal(slice.records, 50);
  steps(slice, 5, 0);
  assert.equal(slice.records, BATCH_SIZE);
});

test('steps that had little to do say nothing about how much they could do', () => {
  const slice = new TimeSlice();
  const before = slice.records;
  for (let step = 0; step < 10; step++) {
    slice.begin(0);
    slice.end(1, 0.01);
  }
  assert.equal(slice.records, before);
});

test('a step is over after five milliseconds, and goes on at once in the next', () => {
  const slice = new TimeSlice();
  slice.begin(10);
  assert.equal(slice.isOver(14.9), false);
  assert.equal(slice.wasCut, false);
  assert.equal(slice.isOver(15), true);
  assert.equal(slice.wasCut, true);
  slice.begin(15);
  assert.equal(slice.wasCut, false);
  assert.equal(slice.isOver(19), false);
});
