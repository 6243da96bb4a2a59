import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { renderConfigurationReference } from './config-reference.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..', '..');
const PAGE = join(ROOT, 'docs', 'reference', 'configuration.md');

test('the reference page of the configuration is the one made from the options', () => {
  const rendered = renderConfigurationReference();
  if (process.env['WEIR_UPDATE_DOCS'] === '1') writeFileSync(PAGE, rendered);
  assert.equal(
    readFileSync(PAGE, 'utf8'),
    rendered,
    'write the page anew: WEIR_UPDATE_DOCS=1 node --test <this file>',
  );
});
