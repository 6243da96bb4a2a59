import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fromLine, toLine } from './copy-text.ts';

const field = fc.option(
  fc.oneof(fc.string(), fc.constantFrom('\\N', '\\', '\t', '\n', '\r\n', '\\.', '', 'é€😀')),
);

test('fields come back from a line as they were, and a line has one line end', () => {
  fc.assert(
    fc.property(fc.array(field, { minLength: 1, maxLength: 6 }), (fields) => {
      const line = toLine(fields);
      assert.deepEqual(fromLine(line), fields);
      assert.equal(line.indexOf('\n'), line.length - 1);
    }),
  );
});
