/** What the guide to upgrading says, typed as it stands there. */
import assert from 'node:assert/strict';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { codeBlocks } from '../package/code-blocks.ts';
import { withEmptyFolder } from '../package/installed-package.ts';
import { walkThrough } from '../package/walkthrough.ts';
import { ROOT } from './weir.ts';

const PAGE = 'docs/guide/upgrading.md';
const LIMIT_MS = 180_000;

test('following the guide to upgrading works, and prints what it shows', async () => {
  const blocks = codeBlocks(readFileSync(join(ROOT, PAGE), 'utf8'));
  const replace = { 'weir ': `${process.execPath} ${join(ROOT, 'packages/core/bin/weir.js')} ` };
  const { steps, fault } = await withEmptyFolder((folder) => {
    // For zod, which the page says is installed beside the job.
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    return walkThrough(blocks, { folder, replace, limitMs: LIMIT_MS });
  });
  if (fault !== null) assert.fail(`${PAGE}, ${fault}`);
  const typed = steps.map(({ block }) => block.text).join('');
  for (const command of [
    'list',
    'savepoint',
    'stop',
    'inspect',
    'diff',
    'check-upgrade',
    'run -s',
    'savepoint -d',
  ])
    assert.ok(typed.includes(`weir ${command}`), `${PAGE} has no block with weir ${command}`);
});
